#include "ensemble/member.h"

#include <cstdlib>

#include "base/cores.h"
#include "base/json.h"
#include "ensemble/step_note.h"
#include "ensemble/stream_use.h"
#include "ensemble/timed_member.h"
#include "ensemble/vote.h"
#include "run/run_record.h"
#include "run/start_weights.h"
#include "run/training.h"

namespace trainyard::ensemble {

namespace {

std::int64_t steps_of(const EnsembleSpec& spec, std::int64_t images, std::int64_t batch) {
  if (spec.steps > 0) return spec.steps;
  return std::max<std::int64_t>(
      static_cast<std::int64_t>(spec.epochs * static_cast<double>(images) / static_cast<double>(batch)), 1);
}

int classes_of(const run::RunOptions& run, const data::RecordSet& records) {
  if (run.classes > 0) return run.classes;
  const std::map<std::int32_t, std::int64_t> labels = records.info(false).labels;
  if (labels.empty()) fail(ErrorKind::config, "no record has a label");
  return std::max(labels.rbegin()->first + 1, 2);
}

// One member in its process.
class Member {
 public:
  // `job`: of which it is a rank; null: it reads in place.
  Member(const EnsembleOptions& options, const EnsemblePart& part, comm::collective::Job* job,
         ProgressListener* notes)
      : options_(options),
        notes_(notes),
        spec_(to_ensemble(options, part.left_out)),
        stream_options_(to_stream(spec_)),
        number_(job != nullptr ? spec_.taking_part().at(static_cast<std::size_t>(job->rank())) : part.member),
        part_(part),
        place_(stream_options_.shares()) {
    if (number_ >= static_cast<int>(spec_.members.size()))
      fail(ErrorKind::usage, "{} {}: there are {}", Setting{"member"}, number_, spec_.members.size());
    if (!options.out.empty()) open_folder();
    if (options.resume.is_given()) place_ = place_of(spec_, member_folder(options.out, number_));
    sharers_ = job != nullptr ? find_core_sharers(*job, spec_.patience.seconds)
                              : CoreSharers{static_cast<int>(spec_.members.size()), number_};
    if (job != nullptr) {
      passed_ = std::make_unique<StreamPart>(stream_options_, *job, place_);
      stream_ = std::shared_ptr<MemberStream>(std::shared_ptr<void>(), &passed_->stream());
    } else {
      reader_ = std::make_shared<SharedReader>(part.stream, number_);
      stream_ = read_in_place(reader_, reader_patience());
    }
  }

  int run() {
    const process::StopRequest guard;
    before_ = meter::read_cpu();  // what the start took is no part of the stream
    std::vector<FillLog::Queue> queues{{"ahead", [this] { return stream_->fill(); }}};
    if (passed_ && passed_->made()) queues.push_back({"made", [this] { return *passed_->made(); }});
    FillLog log(std::move(queues));
    record::RunRecord run = member().is_timed() ? take_time() : train_network();
    run.figures["member_number"] = number_;
    run.words["design"] = name(spec_.design);
    if (passed_) {
      run.figures["images_made"] = static_cast<double>(passed_->images_made());
      run.figures["images_skipped"] = static_cast<double>(passed_->images_skipped());
    }
    run.words["member"] = member().name();
    add_use(run, use_, log);
    make_folders(member_folder(part_.results, number_));
    record::write_run_record(run, member_folder(part_.results, number_) / train::RunFolder::kRecord);
    return run.status == record::Status::interrupted ? process::kInterrupted : 0;
  }

 private:
  const MemberSpec& member() const { return spec_.members[static_cast<std::size_t>(number_)]; }

  // The preprocessor waits for members by itself: it must have the time to say which one is lost.
  double reader_patience() const {
    constexpr double kNoEnd = 1e9;
    return spec_.patience.then == Lost::wait ? kNoEnd : 2 * spec_.patience.seconds + 5;
  }

  void leave_stream() {
    stream_->leave();
    use_ = use_since(before_);
  }

  void open_folder() {
    const std::filesystem::path path = member_folder(options_.out, number_);
    // A run that was killed early may have left no checkpoint of this member.
    resumes_ = options_.resume.is_given() && engine::latest_checkpoint(path).has_value();
    folder_ = std::make_unique<train::RunFolder>(path, resumes_             ? train::Existing::resume
                                                       : options_.overwrite ? train::Existing::overwrite
                                                                            : train::Existing::refuse);
  }

  record::RunRecord take_time() {
    const double began = now_seconds();
    double first_batch = 0;
    std::int64_t begun = 0;
    const bool by_time = options_.seconds > 0;
    const std::int64_t steps =
        by_time ? 0 : steps_of(spec_, stream_options_.source.records->size(), member().run.batch);
    StepNote note(part_.results, number_, steps);
    TimedMember timed{.batch = member().run.batch,
                      .steps = by_time ? std::numeric_limits<std::int64_t>::max() : steps,
                      .images_per_second = *member().images_per_second,
                      .stopped = [&] {
                        if (first_batch == 0) first_batch = now_seconds();
                        note.reached(begun++);
                        return process::StopRequest::asked() ||
                               (by_time && now_seconds() - first_batch > options_.seconds);
                      }};
    const TimedMemberResult result = run_timed_member(*stream_, place_, timed);
    leave_stream();
    record::RunRecord run = begin_record("ensemble", start_, asked_of(member().run), member().run, {});
    const std::span<const double> seconds = result.step_seconds;
    // Queues are empty when it begins, and fill up meanwhile: the first tenth tells of that.
    const std::size_t warmup = seconds.size() / 10;
    run.warmup_step_seconds.assign(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(warmup));
    run.step_seconds.assign(seconds.begin() + static_cast<std::ptrdiff_t>(warmup), seconds.end());
    run.images_per_step = static_cast<double>(member().run.batch);
    run.statistics = record::describe_steps(run.step_seconds, run.images_per_step);
    const double timed_seconds = std::accumulate(run.step_seconds.begin(), run.step_seconds.end(), 0.0);
    // Batches come in bursts, one block's after another: their mean pace is the member's, not the median.
    if (timed_seconds > 0)
      run.images_per_second =
          static_cast<double>(run.step_seconds.size()) * run.images_per_step / timed_seconds;
    run.figures["images_consumed"] = static_cast<double>(seconds.size()) * run.images_per_step;
    if (!seconds.empty()) run.figures["startup_seconds"] = began - start_.steady + seconds.front();
    run.figures["input_wait_seconds"] = result.wait_seconds;
    run.figures["seconds"] = now_seconds() - began;
    return run;
  }

  record::RunRecord train_network() {
    const MemberSpec& own = member();
    train::SessionOptions session = to_session(own.run);
    session.model.input = spec_.preprocess.output;
    session.cores = share_of_cores(process_cores(), sharers_, own.run.threads);
    session.threads = static_cast<int>(session.cores.size());
    session.model.classes = classes_of(own.run, *stream_options_.source.records);
    const std::string weights = give_weights(own.run, session);
    const data::Dataset identity = identify();
    train::TrainOptions loop;
    loop.steps = steps_ = steps_of(spec_, identity.size(data::Split::train), own.run.batch);
    loop.preprocess = {.name = spec_.preprocess.name};
    loop.evaluate = false;
    loop.checkpoint_every = spec_.checkpoint_every;
    loop.keep = spec_.keep;
    loop.resume = resumes_;
    StepNote note(part_.results, number_, steps_);
    set_batches(loop, note);
    loop.input_place = [this](std::int64_t steps) {
      return batches_ ? batches_->place_after(steps).text() : place_.text();
    };
    const train::Deployment deployment;
    train::Replicas replicas(session, deployment);
    const double began = now_seconds();
    const train::TrainResult result = train::run_training(replicas, identity, loop, folder_.get());
    const std::span<const double> seconds = result.step_seconds;
    record::RunRecord run = make_record("ensemble", start_, asked_of(own.run), own.run, deployment,
                                        result.facts, run::measurement_of(result));
    run::set_end(run, result);
    run.figures["final_step"] = static_cast<double>(result.final_step);
    run.figures["first_loss"] = result.first_loss;
    run.figures["final_loss"] = result.final_loss;
    run.figures["seconds"] = result.seconds;
    run.figures["seed"] = static_cast<double>(own.run.seed);
    if (!seconds.empty()) run.figures["startup_seconds"] = began - start_.steady + seconds.front();
    if (!weights.empty()) run.words["start"] = weights;
    if (own.is_on_gpu()) run.words["gpu_copy"] = gathers_ ? "one" : "each";
    if (result.checkpoint) run.words["checkpoint"] = result.checkpoint->string();
    if (result.resumed_from) run.words["resumed_from"] = result.resumed_from->string();
    batches_.reset();
    leave_stream();  // the others need not wait while this one is evaluated
    const auto tests = options_.no_eval || result.interrupted ? nullptr : open_tests();
    if (tests != nullptr) vote(replicas.keeper(), tests, run);
    return run;
  }

  // Those of the stream; a GPU gets only which they are where the preprocessor copied them there. The note is
  // told how far they are.
  void set_batches(train::TrainOptions& loop, StepNote& note) {
    const StreamBatches::How how{stream_options_.source.preprocessor, member().mirror_seed, steps_};
    const auto noted = [&note](data::BatchStreamOptions options) {
      options.made = [&note](std::int64_t step, double, double) { note.reached(step); };
      return options;
    };
    loop.batches = [this, how, noted](const data::BatchStreamOptions& options) {
      batches_ = std::make_shared<StreamBatches>(stream_, how, place_, noted(options));
      return batches_;
    };
    loop.feed_batches = [this, how, noted, plain = loop.batches](train::Session& session,
                                                                 const data::BatchStreamOptions& options) {
      const auto samples = open_gpu_copy(session);
      gathers_ = samples != nullptr;
      if (!gathers_) return train::feed_from_host(session, plain(options));
      const auto chosen =
          std::make_shared<GatheredBatches>(reader_, reader_patience(), samples, how, place_, noted(options));
      batches_ = chosen;
      return train::feed_by_gather(session, chosen, chosen->gather(), chosen->samples());
    };
  }

  // The samples that the preprocessor copies to this GPU. Null: there are none, or not for this process.
  std::shared_ptr<backend::OpenedMemory> open_gpu_copy(const train::Session& session) const {
    const std::shared_ptr<backend::Device> gpu = session.backend().device();
    const std::string shared = reader_ ? reader_->gpu_copy(gpu->pci_address()) : "";
    if (shared.empty()) return nullptr;
    try {
      return std::make_shared<backend::OpenedMemory>(gpu, shared);
    } catch (const Error& error) {
      if (notes_ != nullptr)
        notes_->warn(
            fmt::format("member {} copies its samples to the GPU by itself: {}", number_, error.what()));
      return nullptr;
    }
  }

  // Null: there are none, and nobody asked for them by name.
  std::shared_ptr<const data::RecordSet> open_tests() const {
    try {
      return data::RecordSet::open(spec_.data, spec_.test_split.empty() ? "test" : spec_.test_split,
                                   spec_.damage);
    } catch (const Error&) {
      if (!spec_.test_split.empty()) throw;
      return nullptr;
    }
  }

  void vote(const train::Session& session, const std::shared_ptr<const data::RecordSet>& tests,
            record::RunRecord& run) {
    const auto maker = [&](const data::BatchStreamOptions& options) {
      return std::make_shared<RecordBatches>(tests, stream_options_.source.preprocessor, options);
    };
    train::Evaluator evaluator(session, maker, {.name = spec_.preprocess.name});
    Votes votes;
    evaluator.evaluate([&](std::span<const float> logits, std::int32_t label) { votes.add(logits, label); });
    make_folders(member_folder(part_.results, number_));
    write_votes(votes, member_folder(part_.results, number_) / kVotesFile);
    run.figures["test_accuracy"] = votes.accuracy();
  }

  // A checkpoint names the data by their name and number.
  data::Dataset identify() const {
    data::Dataset dataset;
    dataset.name = spec_.data.filename().string();
    dataset.kind = data::SampleKind::encoded;
    dataset.train.samples = data::record_samples(stream_options_.source.records, spec_.damage);
    return dataset;
  }

  const EnsembleOptions& options_;
  ProgressListener* const notes_;
  const run::RunStart start_;
  const EnsembleSpec spec_;
  const StreamOptions stream_options_;
  const int number_;
  const EnsemblePart& part_;
  StreamPlace place_;
  CoreSharers sharers_;
  meter::CpuSnapshot before_;  // the stream began
  StreamUse use_;
  bool resumes_ = false;
  bool gathers_ = false;  // its GPU takes samples that are copied once for all members there
  std::int64_t steps_ = 0;
  std::unique_ptr<train::RunFolder> folder_;
  std::unique_ptr<StreamPart> passed_;    // null: it reads in place
  std::shared_ptr<SharedReader> reader_;  // null: samples are passed to it
  std::shared_ptr<MemberStream> stream_;
  std::shared_ptr<StreamBatches> batches_;
};

}  // namespace

std::filesystem::path member_folder(const std::filesystem::path& results, int member) {
  return results / fmt::format("member-{}", member);
}

void forget_results(const std::filesystem::path& results, int member) {
  std::error_code ignored;
  for (const char* file : {train::RunFolder::kRecord, kVotesFile})
    std::filesystem::remove(member_folder(results, member) / file, ignored);
}

StreamPlace place_of(const EnsembleSpec& spec, const std::filesystem::path& folder) {
  const int shares = spec.design == Design::baseline ? 1 : spec.preprocessors;
  const auto latest = engine::latest_checkpoint(folder);
  if (!latest) return StreamPlace(shares);
  const std::filesystem::path manifest = *latest / "manifest.json";
  const std::vector<std::byte> bytes = read_file(manifest);
  const engine::CheckpointManifest found = engine::parse_manifest(
      std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), manifest);
  for (const auto& [key, value] : found.header.reached)
    if (key == train::kInputPlace) return StreamPlace::parse(value, shares);
  fail(ErrorKind::config, "'{}' is no checkpoint of an ensemble", latest->string());
}

int run_member_in_place(const EnsembleOptions& options, const EnsemblePart& part, ProgressListener* notes) {
  return Member(options, part, nullptr, notes).run();
}

int run_member_as_rank(const EnsembleOptions& options, const EnsemblePart& part, comm::collective::Job& job,
                       ProgressListener& complain) {
  const auto give_up = [&](const std::string& message, int code) {
    complain.warn(message);
    std::_Exit(code);  // a rank that goes without a word to MPI takes the job with it
    return code;
  };
  // Not destroyed when it fails: it would go on to pass samples to the others.
  Member* member = nullptr;
  try {
    member = new Member(options, part, &job, &complain);
    const int code = member->run();
    delete member;
    return code;
  } catch (const Error& error) {
    return give_up(error.with_options(), process::exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return give_up("out of memory", process::kRunFailed);
  } catch (const std::exception& error) {
    return give_up(error.what(), process::kRunFailed);
  }
}

}  // namespace trainyard::ensemble
