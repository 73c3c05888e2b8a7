#include "run/training.h"

#include "base/json.h"
#include "networks/zoo/network_files.h"
#include "run/bench.h"
#include "run/start_weights.h"
#include "train/loop/ps_training.h"

namespace trainyard::run {

namespace {

// Independent devices go through the images each for itself.
std::int64_t steps_of(const TrainCommand& options, const data::Dataset& dataset,
                      const train::Deployment& deployment) {
  if (options.steps > 0) return options.steps;
  const double images = options.epochs * static_cast<double>(dataset.size(data::Split::train));
  // A step is an update: of the batches of all devices, or of one.
  const bool of_one = deployment.strategy == train::Strategy::independent ||
                      (deployment.strategy == train::Strategy::servers &&
                       !train::one_update_of_all(ps::ModeName::parse(deployment.mode)));
  const std::int64_t all = deployment.global_batch(options.run.batch),
                     batch = of_one ? all / deployment.devices : all;
  return static_cast<std::int64_t>(std::ceil(images / static_cast<double>(batch)));
}

}  // namespace

Input load_for(const networks::NetworkInfo& network, const networks::ModelOptions& model, std::uint64_t seed,
               InputOptions options, ProgressListener* progress) {
  train::want_readable(network, options.data.name);
  if (options.data.name == "synthetic")
    options.data.synthetic = train::synthetic_for(network, model.classes, seed);
  if (network.reads_sequences()) options.data.tokens = train::sequences_for(network, model.parameters);
  Input input = load_input(options, progress);
  if (model.classes != 0 && !network.reads_sequences() && model.classes < input.dataset.classes)
    fail(ErrorKind::usage, "{} {}: data set '{}' has {}", Setting{"classes"}, model.classes,
         input.dataset.name, input.dataset.classes);
  return input;
}

TrainingSetup set_up_training(const TrainCommand& options) {
  TrainingSetup setup;
  setup.deployment = to_deployment(options.deployment, options.run.batch);
  setup.session = to_session(options.run);
  setup.session.model.batch = setup.deployment.batch_per_device(options.run.batch);
  if (!backend::make_backend(setup.session.backend)->executes())
    fail(ErrorKind::usage, "{} {}: computes nothing, so cannot train", Setting{"backend"},
         setup.session.backend);
  const networks::NetworkInfo network = networks::find_network(options.run.network, options.run.parameters);
  const auto file = networks::imported_file(network.name);
  // A file of layers says how many classes there are, as an imported one does; others take those of the data.
  if (setup.session.model.classes == 0 && !file && !network.reads_sequences() &&
      networks::network_file(network.name))
    setup.session.model.classes = network.classes;
  setup.input =
      load_for(network, setup.session.model, options.run.seed, options.input, options.train.progress);
  const data::Dataset& dataset = setup.input.dataset;
  const train::MatchedInput input = train::match_input(network, dataset, options.preprocess);
  setup.session.model.input = input.network;
  if (setup.session.model.classes == 0 && !file)
    setup.session.model.classes = input.classes;
  else if (setup.session.model.classes == 0 && options.run.new_head && !network.reads_sequences())
    networks::give_classes(*file, input.classes, setup.session.model);
  setup.start = give_weights(options.run, setup.session);
  setup.loop = options.train;
  setup.loop.steps = steps_of(options, dataset, setup.deployment);
  setup.loop.preprocess = input.preprocess;
  setup.loop.feed = *train::find_feed(options.feed);
  setup.loop.evaluate = !options.no_eval;
  setup.loop.resume = options.resume.is_given();
  return setup;
}

void tell_note(const TrainingSetup& setup) {
  const data::Dataset& dataset = setup.input.dataset;
  if (setup.loop.progress != nullptr && !dataset.note.empty())
    setup.loop.progress->note(fmt::format("{}: {}", dataset.name, dataset.note));
  const std::string& network = setup.session.model.network;
  if (const auto file = networks::network_file(network); setup.loop.progress != nullptr && file)
    setup.loop.progress->note(fmt::format("{}: {}", network, file->note));
  if (setup.loop.progress != nullptr && !setup.start.empty())
    setup.loop.progress->note(fmt::format("{}: {}", network, setup.start));
}

namespace {

std::string text_of(const std::optional<std::filesystem::path>& path) { return path ? path->string() : ""; }

std::string to_json_text(const train::LossCurve& curve) {
  Json points = Json::array();
  for (const train::LossCurve::Point& point : curve.points())
    points.push_back({point.seconds, point.gradients, point.loss});
  return json_text(points);
}

std::string to_json_text(const std::vector<train::AccuracyPoint>& curve) {
  Json points = Json::array();
  for (const train::AccuracyPoint& point : curve)
    points.push_back({point.seconds, point.step, point.accuracy});
  return json_text(points);
}

}  // namespace

Measurement measurement_of(const train::TrainResult& result) {
  // The first step also pays for pages and caches that no later step pays for.
  const std::span<const double> seconds = result.step_seconds;
  const std::size_t warmup = seconds.size() > 1 ? 1 : 0;
  return {.warmup_seconds = seconds.first(warmup),
          .step_seconds = seconds.subspan(warmup),
          .images_consumed = result.images_consumed,
          .counted_steps = static_cast<std::int64_t>(seconds.size()),
          .cpu = result.cpu,
          .noise = result.noise,
          .cores_in_reach = result.cores_in_reach,
          .core_distance = result.core_distance,
          .event_seconds = result.event_seconds,
          .wall_seconds = std::accumulate(seconds.begin(), seconds.end(), 0.0),
          .feed = train::name(result.feed),
          .input_wait_seconds = result.input_wait_seconds,
          .gpu = result.gpu};
}

void set_end(record::RunRecord& run, const train::TrainResult& result) {
  if (result.interrupted) {
    run.status = record::Status::interrupted;
    run.reason = fmt::format("interrupted at step {}", result.final_step);
  } else if (result.diverged) {
    run.status = record::Status::diverged;
    run.reason =
        fmt::format("loss diverged: {:.4g} at first, {:.4g} at last", result.first_loss, result.final_loss);
    run.exit_code = process::kRunFailed;
  }
}

record::RunRecord training_record(const RunStart& start, const TrainCommand& options, const Input& input,
                                  const train::Deployment& deployment, const train::TrainResult& result,
                                  double peak_flops_per_second) {
  const train::RunFacts& facts = result.facts;
  Measurement measured = measurement_of(result);
  measured.peak_flops_per_second = peak_flops_per_second;
  record::RunRecord run =
      make_record("train", start, asked_of(options), options.run, deployment, facts, measured);
  set_end(run, result);
  add_input(run, options.input, input);
  const double none = std::numeric_limits<double>::quiet_NaN();
  run.asked["steps"] = result.final_step;
  if (!facts.collective.empty()) {
    run.words["collective"] = facts.collective;
    run.figures["ranks"] = facts.ranks;
  }
  run.figures["seed"] = static_cast<double>(options.run.seed);
  run.figures["final_step"] = static_cast<double>(result.final_step);
  run.figures["first_loss"] = result.first_loss;
  run.figures["final_loss"] = result.final_loss;
  run.figures["test_accuracy"] = result.test_accuracy.value_or(none);
  if (input.dataset.least_loss) run.figures["least_loss"] = *input.dataset.least_loss;
  if (result.test_loss) run.figures["test_loss"] = *result.test_loss;
  if (result.test_loss && input.dataset.least_test_loss)
    run.figures["least_test_loss"] = input.dataset.least_test_loss();
  run.figures["seconds"] = result.seconds;
  if (!result.loss_curve.points().empty()) run.details["loss_curve"] = to_json_text(result.loss_curve);
  if (!result.accuracy_curve.empty()) run.details["accuracy_curve"] = to_json_text(result.accuracy_curve);
  run.words["checkpoint"] = text_of(result.checkpoint);
  run.words["resumed_from"] = text_of(result.resumed_from);
  return run;
}

std::vector<std::unique_ptr<train::RunFolder>> open_folders(const TrainCommand& options,
                                                            const train::Deployment& deployment) {
  const train::Existing existing = options.resume.is_auto()    ? train::Existing::resume_or_begin
                                   : options.resume.is_given() ? train::Existing::resume
                                   : options.overwrite         ? train::Existing::overwrite
                                                               : train::Existing::refuse;
  if (options.out.empty()) return {};
  if (deployment.strategy == train::Strategy::independent)
    return train::open_device_folders(options.out, existing, deployment.devices);
  std::vector<std::unique_ptr<train::RunFolder>> folders;
  folders.push_back(std::make_unique<train::RunFolder>(options.out, existing));
  return folders;
}

namespace {

// The record lists the result of each of several independent devices.
Json to_json(const train::TrainResult& result, std::uint64_t seed) {
  return {{"seed", seed},
          {"first_loss", result.first_loss},
          {"final_loss", result.final_loss},
          {"test_accuracy", result.test_accuracy ? Json(*result.test_accuracy) : Json(nullptr)},
          {"final_step", result.final_step},
          {"checkpoint", result.checkpoint ? Json(result.checkpoint->string()) : Json(nullptr)},
          {"resumed_from", result.resumed_from ? Json(result.resumed_from->string()) : Json(nullptr)}};
}

// Rank 0's are the run's.
struct Part {
  std::vector<std::unique_ptr<train::RunFolder>> folders;
  std::vector<train::TrainResult> results;  // one, or one a device when they are independent
  double peak_flops_per_second = 0;         // of all ranks at once
};

double measure_peak_of_all(comm::collective::Collective& ranks, const train::SessionOptions& own) {
  ranks.barrier();
  std::array<float, 1> peak{static_cast<float>(measure_peak(own, own.threads))};
  ranks.all_reduce_mean(peak);
  return static_cast<double>(peak[0]) * ranks.size();
}

Part train_all(const TrainCommand& options, const train::SessionOptions& wanted,
               const train::Deployment& deployment, const Input& loaded, const train::TrainOptions& loop,
               comm::collective::Collective* ranks) {
  Part part;
  if (ranks == nullptr || ranks->rank() == 0) part.folders = open_folders(options, deployment);
  const process::StopRequest guard;
  process::StopRequest::check();  // of what was staged before
  if (deployment.strategy == train::Strategy::independent) {
    part.results = train::run_independent(wanted, deployment, loaded.dataset, loop, part.folders);
    return part;
  }
  train::SessionOptions own;
  {
    train::Replicas replicas(wanted, deployment, ranks);
    own = replicas.session(0).options();
    part.results.push_back(train::run_training(replicas, loaded.dataset, loop,
                                               part.folders.empty() ? nullptr : part.folders.front().get()));
  }
  if (ranks != nullptr && !part.results.front().interrupted)
    part.peak_flops_per_second = measure_peak_of_all(*ranks, own);
  return part;
}

}  // namespace

TrainingOutcome train_network(const TrainCommand& options, comm::collective::Collective* ranks) {
  const RunStart start;
  check(options);
  const bool first = ranks == nullptr || ranks->rank() == 0;
  TrainingSetup setup = set_up_training(options);
  setup.loop.evaluate = setup.loop.evaluate && first;
  if (!first) setup.loop.progress = nullptr;
  tell_note(setup);
  const auto tracer = first ? make_tracer(options.trace) : nullptr;
  setup.loop.tracer = tracer.get();
  const auto& [deployment, wanted, loaded, loop, weights] = setup;

  const Part part = train_all(options, wanted, deployment, loaded, loop, ranks);
  const train::TrainResult result = train::combine(part.results);
  if (!first) return {result.interrupted, std::nullopt};
  const double peak = result.interrupted ? 0
                      : ranks != nullptr ? part.peak_flops_per_second
                                         : measure_peak(to_session(options.run), result.facts.threads);
  record::RunRecord run = training_record(start, options, loaded, deployment, result, peak);
  if (!weights.empty()) run.words["start"] = weights;
  if (deployment.strategy == train::Strategy::independent) {
    Json devices = Json::array();
    for (int device = 0; device < deployment.devices; ++device)
      devices.push_back(to_json(part.results[static_cast<std::size_t>(device)],
                                train::device_seed(options.run.seed, device)));
    run.details["replicas"] = json_text(devices);
  }
  if (tracer != nullptr && !result.interrupted) keep_trace(*tracer, options.trace.file, options.run, run);
  if (!options.out.empty()) record::write_run_record(run, options.out / train::RunFolder::kRecord);
  keep_record(run, options.run);
  return {result.interrupted, std::move(run)};
}

}  // namespace trainyard::run
