#include "base/text.h"
#include "launch/train_job.h"

#include <csignal>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "ensemble/member.h"
#include "launch/mpi_job.h"
#include "process/child.h"
#include "process/run_to_end.h"
#include "process/stop_request.h"
#include "train/session/job_check.h"

namespace trainyard::launch {

namespace {

constexpr auto kLook = std::chrono::milliseconds(20);

constexpr double kEndSeconds = 10;  // that the others have to save what they have

constexpr double kToldSeconds = 1;  // that a preprocessor has to say what a member complains of

// `ensemble NAME ...` with the words of this process behind it.
std::vector<std::string> words_of(const char* name, const ensemble::EnsembleOptions& options,
                                  const std::filesystem::path& results) {
  std::vector<std::string> words{"ensemble", name, options.file.string(), "--results", results.string()};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (!options.design.empty()) add("--design", options.design);
  if (!options.lost.empty()) add("--lost", options.lost);
  if (options.members > 0) add("--members", std::to_string(options.members));
  if (options.preprocessors > 0) add("--preprocessors", std::to_string(options.preprocessors));
  if (options.threads > 0) add("--threads", std::to_string(options.threads));
  if (options.steps > 0) add("--steps", std::to_string(options.steps));
  if (options.epochs > 0) add("--epochs", fmt::format("{}", options.epochs));
  if (options.patience > 0) add("--patience", fmt::format("{}", options.patience));
  if (options.rate) add("--rate", fmt::format("{}", *options.rate));
  if (options.seconds > 0) add("--seconds", fmt::format("{}", options.seconds));
  if (!options.out.empty()) add("--out", options.out.string());
  if (options.resume.is_given()) words.emplace_back("--resume");
  if (options.overwrite) words.emplace_back("--overwrite");
  if (options.no_eval) words.emplace_back("--no-eval");
  return words;
}

std::string last_words(const std::filesystem::path& log) {
  const std::string last = process::last_line_of(log), prefix = "trainyard: ";
  return last.starts_with(prefix) ? last.substr(prefix.size()) : last;
}

std::string how_it_ended(int code, const std::string& words) {
  if (code > 128) return fmt::format("was ended by signal {} ({})", code - 128, ::strsignal(code - 128));
  return words.empty() ? fmt::format("ended with exit code {}", code) : "says: " + words;
}

// An InPlaceJob is a preprocessor and the members that read what it writes.
class InPlaceJob {
 public:
  InPlaceJob(const ensemble::EnsembleOptions& options, const ensemble::EnsembleSpec& spec,
             const std::filesystem::path& results, const std::filesystem::path& logs, ProgressListener* notes)
      : options_(options), spec_(spec), results_(results), logs_(logs), notes_(notes) {}

  void run() {
    const process::StopRequest guard;
    start_preprocessor();
    const std::string address = wait_for_address();
    for (std::size_t i = 0; i < spec_.members.size(); ++i)
      members_.push_back(start("member", fmt::format("member {} ({})", i, spec_.members[i].name()),
                               fmt::format("member-{}", i),
                               {"--member", std::to_string(i), "--stream", address}));
    wait();
  }

 private:
  struct Part {
    std::string name;
    std::filesystem::path log;
    std::unique_ptr<process::BackgroundChild> process;
    bool dropped = false;
  };

  Part start(const char* command, const std::string& name, const std::string& log,
             const std::vector<std::string>& more) {
    std::vector<std::string> words = words_of(command, options_, results_);
    words.insert(words.begin(), process::own_program().string());
    words.insert(words.end(), more.begin(), more.end());
    Part part{name, logs_ / (log + ".log"), nullptr};
    std::error_code ignored;
    std::filesystem::remove(part.log, ignored);
    part.process = std::make_unique<process::BackgroundChild>(words, "", part.log, SIGKILL);
    return part;
  }

  void start_preprocessor() {
    announce_ = results_ / "address";
    std::error_code ignored;
    std::filesystem::remove(announce_, ignored);
    std::int64_t first = 0;
    if (options_.resume.is_given()) {
      first = std::numeric_limits<std::int64_t>::max();
      for (std::size_t i = 0; i < spec_.members.size(); ++i)
        first = std::min(
            first,
            ensemble::place_of(spec_, ensemble::member_folder(options_.out, static_cast<int>(i))).next()[0]);
    }
    preprocessor_ = start("preprocess", "the preprocessor", "preprocessor",
                          {"--announce", announce_.string(), "--first-position", std::to_string(first)});
  }

  std::string wait_for_address() {
    const double began = now_seconds();
    while (!std::filesystem::exists(announce_)) {
      look_after(preprocessor_);
      if (now_seconds() - began > spec_.patience.seconds)
        fail(ErrorKind::peer, "the preprocessor did not begin within {:.0f} s", spec_.patience.seconds);
      std::this_thread::sleep_for(kLook);
    }
    const std::vector<std::byte> bytes = read_file(announce_);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Error when it ended and should not have.
  void look_after(const Part& part) const {
    const std::optional<int> code = part.process->end_code();
    if (!code || *code == 0 || *code == process::kInterrupted) return;
    fail(*code == process::kCallerCanMendIt ? ErrorKind::config : ErrorKind::peer, "{} {}", part.name,
         how_it_ended(*code, last_words(part.log)));
  }

  void wait() {
    while (true) {
      pass_on_interrupt();
      bool running = false;
      for (Part& member : members_) {
        if (!member.dropped) look_after_member(member);
        running = running || !member.process->end_code();
      }
      look_or_save(preprocessor_);
      if (!running && preprocessor_.process->end_code()) break;
      std::this_thread::sleep_for(kLook);
    }
    if (std::all_of(members_.begin(), members_.end(), [](const Part& part) { return part.dropped; }))
      fail(ErrorKind::peer, "every member was lost");
  }

  void look_after_member(Part& member) {
    // A member that was killed is more telling than the preprocessor that misses it; but one that complains
    // may do so because the preprocessor went, and that one knows why.
    if (const std::optional<int> code = member.process->end_code();
        code && *code > 0 && *code < process::kInterrupted)
      wait_while([&] { return !preprocessor_.process->end_code(); }, kToldSeconds);
    if (const std::optional<int> code = preprocessor_.process->end_code();
        code && *code > 0 && !was_killed(member))
      look_or_save(preprocessor_);
    if (spec_.patience.then != ensemble::Lost::drop) return look_or_save(member);
    try {
      look_after(member);
    } catch (const Error& error) {
      member.dropped = true;
      if (notes_ != nullptr) notes_->warn(fmt::format("{}; going on without it", error.with_options()));
    }
  }

  // Before an error goes on, the members that live save what they have.
  void look_or_save(const Part& part) {
    try {
      look_after(part);
    } catch (const Error& error) {
      for (const Part& member : members_) {
        member.process->signal(SIGTERM);
        member.process->signal(SIGCONT);  // it may stand still
      }
      wait_while(
          [&] {
            return std::any_of(members_.begin(), members_.end(),
                               [](const Part& member) { return !member.process->end_code(); });
          },
          kEndSeconds);
      fail(error.kind(), "{}{}", error.with_options(),
           options_.out.empty() ? std::string()
                                : fmt::format("; the same command with {} goes on", Setting{"resume"}));
    }
  }

  static bool was_killed(const Part& part) {
    return part.process->end_code().value_or(0) > process::kInterrupted;
  }

  template <typename Condition>
  static void wait_while(const Condition& condition, double seconds) {
    const double began = now_seconds();
    while (condition() && now_seconds() - began < seconds) std::this_thread::sleep_for(kLook);
  }

  void pass_on_interrupt() {
    if (!process::StopRequest::asked() || passed_on_) return;
    for (const Part& member : members_) member.process->signal(SIGTERM);
    passed_on_ = true;
  }

  const ensemble::EnsembleOptions& options_;
  const ensemble::EnsembleSpec& spec_;
  const std::filesystem::path results_, logs_;
  ProgressListener* const notes_;
  std::filesystem::path announce_;
  Part preprocessor_;
  std::vector<Part> members_;
  bool passed_on_ = false;
};

// Ranks of an MPI job. One that is lost takes the job with it: where the others shall go on without it, they
// are started again, from their checkpoints if there are any.
class MpiEnsemble {
 public:
  MpiEnsemble(const ensemble::EnsembleOptions& options, const ensemble::EnsembleSpec& spec,
              const std::filesystem::path& results, const std::filesystem::path& logs,
              ProgressListener* notes)
      : options_(options), spec_(spec), results_(results), logs_(logs), notes_(notes) {}

  void run() {
    const process::StopRequest guard;
    while (true) {
      const MpiJobEnd end = run_once();
      if (end.exit_code == 0 || process::StopRequest::asked()) return;
      if (spec_.patience.then != ensemble::Lost::drop || end.lost.empty()) give_up(end);
      leave_out(end);
    }
  }

 private:
  MpiJobEnd run_once() {
    const std::vector<int> numbers = spec_.taking_part();
    std::vector<std::string> words = words_of("member", options_, results_);
    if (!spec_.left_out.empty()) words.insert(words.end(), {"--left-out", joined(spec_.left_out, ",")});
    MpiJob job{static_cast<int>(numbers.size()), words, logs_, options_.quiet ? nullptr : notes_,
               [this](int rank) { return name_of(rank); }};
    place_ranks(job, options_.hosts, options_.remote_shell);
    if (!all_are_here(job) && options_.out.empty())
      fail(ErrorKind::usage, "{} '{}': give {}, a folder that all machines see", Setting{"hosts"},
           options_.hosts.string(), Setting{"out"});
    return run_mpi_job(job);
  }

  std::string name_of(int rank) const {
    const int number = spec_.taking_part().at(static_cast<std::size_t>(rank));
    return fmt::format("member {} ({})", number, spec_.members[static_cast<std::size_t>(number)].name());
  }

  [[noreturn]] void give_up(const MpiJobEnd& end) const {
    const std::string reason =
        end.reason.empty() ? fmt::format("mpirun ended with exit code {}", end.exit_code) : end.reason;
    const bool mendable = end.exit_code == process::kCallerCanMendIt;
    fail(mendable ? ErrorKind::config : ErrorKind::peer, "{}{}", reason,
         options_.out.empty() || mendable
             ? std::string()
             : fmt::format("; the same command with {} goes on", Setting{"resume"}));
  }

  void leave_out(const MpiJobEnd& end) {
    if (end.lost.size() == spec_.taking_part().size()) fail(ErrorKind::peer, "every member was lost");
    std::vector<std::string> names;
    std::vector<int> numbers;
    for (const int rank : end.lost) {
      names.push_back(name_of(rank));
      numbers.push_back(spec_.taking_part().at(static_cast<std::size_t>(rank)));
      // A suspended process is resumed to be ended, and may say that it was interrupted.
      ensemble::forget_results(results_, numbers.back());
    }
    const bool is_named = end.reason.starts_with(names.front());
    if (notes_ != nullptr)
      notes_->warn(fmt::format(
          "{}{}; going on without it{}", is_named ? "" : fmt::format("{}: ", joined(names, ", ")), end.reason,
          options_.out.empty() ? ", from the beginning: no folder for checkpoints was given" : ""));
    spec_.left_out.insert(spec_.left_out.end(), numbers.begin(), numbers.end());
    options_.resume.value = options_.out.empty() ? "" : "auto";
    options_.overwrite = false;
  }

  ensemble::EnsembleOptions options_;
  ensemble::EnsembleSpec spec_;
  const std::filesystem::path results_, logs_;
  ProgressListener* const notes_;
};

// Members with the same key take the same memory.
std::string memory_key(const run::RunOptions& run) {
  std::string key =
      fmt::format("{} {} {} {} {} {} {} {} {}", run.network, run.batch, run.classes, run.backend,
                  run.device.to_string(), run.precision, run.optimizer, run.ema > 0, run.no_fusion);
  for (const auto& [name, value] : run.parameters) key += fmt::format(" {}={}", name, value);
  return key;
}

// Samples that wait in the queues of one process.
double queue_bytes(const ensemble::EnsembleSpec& spec) {
  const auto images = static_cast<double>(spec.made_images) + static_cast<double>(spec.ahead_images);
  const double most = images * static_cast<double>(spec.preprocess.output.elements());
  return spec.queue_bytes > 0 ? std::min(most, 2.0 * static_cast<double>(spec.queue_bytes)) : most;
}

// Members and preprocessors have to have room on this machine together.
void check_room_for_ensemble(const ensemble::EnsembleOptions& options, const ensemble::EnsembleSpec& spec) {
  const auto members = static_cast<int>(spec.members.size());
  MpiJob job{.ranks = members};
  const bool in_place = spec.design == ensemble::Design::shared_memory;
  if (!in_place) place_ranks(job, options.hosts, options.remote_shell);
  const int here = in_place ? members : ranks_here(job), preprocessors = in_place ? 1 : 0;
  const std::string who = fmt::format("ensemble of {} members", members);
  train::check_job(who, {{here + preprocessors, train::process_bytes()}});
  std::vector<train::JobPart> parts{{preprocessors, train::process_bytes()}};
  std::map<std::string, double> known;  // by what members are alike in, for the memory that they take
  for (const ensemble::MemberSpec& member : std::span(spec.members).first(static_cast<std::size_t>(here))) {
    double& bytes = known[member.is_timed() ? "timed" : memory_key(member.run)];
    if (bytes == 0)
      bytes = member.is_timed() ? train::process_bytes() : train::worker_bytes(run::to_session(member.run));
    parts.push_back({1, bytes + queue_bytes(spec)});
  }
  train::check_job(who, parts);
}

}  // namespace

void run_ensemble_job(const ensemble::EnsembleOptions& options, const ensemble::EnsembleSpec& spec,
                      const std::filesystem::path& results, ProgressListener* notes) {
  check_room_for_ensemble(options, spec);
  const std::filesystem::path logs = results / "logs";
  make_folders(logs);
  if (spec.design == ensemble::Design::shared_memory)
    InPlaceJob(options, spec, results, logs, notes).run();
  else
    MpiEnsemble(options, spec, results, logs, notes).run();
}

}  // namespace trainyard::launch
