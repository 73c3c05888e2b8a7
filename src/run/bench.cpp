#include "run/bench.h"

#include "base/json.h"
#include "base/text.h"
#include "engine/canonical.h"
#include "run/bench_inference.h"
#include "run/run_record.h"
#include "run/start_weights.h"
#include "train/loop/timed_steps.h"

namespace trainyard::run {

double measure_peak(const train::SessionOptions& options, int threads) {
  if (options.cores.empty())
    train::limit_threads(threads);
  else
    train::limit_to(options.cores);
  const auto peaks = backend::make_backend(options.backend, options.device, options.precision)
                         ->gemm_peaks({name(options.precision)}, 0.5);
  return peaks.empty() ? 0 : peaks.front().flops_per_second;
}

namespace {

constexpr double kSeconds = 0.1;

constexpr std::int64_t kMemoryBytes = std::int64_t{128} << 20;

constexpr std::int64_t kCacheBytesPerThread = 16 << 10;  // half of a first-level cache

}  // namespace

void add_bandwidth_roofs(record::RunRecord& run, const train::SessionOptions& options, int threads) {
  if (options.device.is_cpu()) {
    if (options.cores.empty())
      train::limit_threads(threads);
    else
      train::limit_to(options.cores);
    run.figures["peak_bytes_per_second"] = meter::read_bytes_per_second(kSeconds, kMemoryBytes);
    run.figures["peak_cache_bytes_per_second"] =
        meter::read_bytes_per_second(kSeconds, kCacheBytesPerThread * threads);
    return;
  }
  double memory = 0, cache = 0;
  for (const backend::DevicePeak& peak :
       backend::make_backend(options.backend, options.device, options.precision)->device_peaks(kSeconds)) {
    if (peak.group == "memory_bytes_per_second") memory = std::max(memory, peak.value);
    if (peak.group == "cache_bytes_per_second") cache = std::max(cache, peak.value);
  }
  if (memory > 0) run.figures["peak_bytes_per_second"] = memory;
  if (cache > 0) run.figures["peak_cache_bytes_per_second"] = cache;
}

record::Settings asked_of(const BenchOptions& options) {
  record::Settings asked = asked_of(options.run);
  add_asked("bench", options, asked);
  return asked;
}

record::StoppingLimits to_limits(const StoppingOptions& options, std::int64_t max_steps) {
  record::StoppingLimits limits;
  limits.max_steps = max_steps;
  limits.relative_half_width = options.until_width;
  if (options.max_seconds > 0) limits.max_seconds = options.max_seconds;
  return limits;
}

namespace {

// The input of a bench that feeds its steps: generated samples for the network.
struct Fed {
  data::Dataset samples;
  train::MatchedInput input;
};

std::optional<Fed> feed_for(const BenchOptions& options) {
  want_choice("bench", "feed", options.feed);
  if (options.feed == "auto") return std::nullopt;
  if (options.feed == "device" && options.run.device.is_cpu())
    fail(ErrorKind::usage, "{} device: wants a GPU, {} cuda", Setting{"feed"}, Setting{"device"});
  const networks::NetworkInfo network = networks::find_network(options.run.network, options.run.parameters);
  Fed fed;
  if (network.reads_sequences()) {
    if (options.feed == "device")
      fail(ErrorKind::usage, "{} device: network '{}' reads sequences, which the host makes ({} host)",
           Setting{"feed"}, network.name, Setting{"feed"});
    fed.samples = data::make_synthetic_sequences(train::sequences_for(network, options.run.parameters),
                                                 options.run.seed);
  } else {
    fed.samples = data::make_synthetic(train::synthetic_for(network, options.run.classes, options.run.seed));
  }
  fed.input = train::match_input(network, fed.samples, "");
  return fed;
}

// Whence the steps get their batches; null where a GPU makes them for itself.
struct Feeds {
  std::unique_ptr<train::HostFeed> of_gpu;
  std::unique_ptr<train::HostBatches> of_host;
};

Feeds start_feeds(train::Replicas& replicas, const Fed& fed, const std::string& wanted) {
  const auto stream_of = [&](int device) -> data::BatchStreamOptions {
    const train::SessionOptions& session = replicas.session(device).options();
    return {.preprocess = fed.input.preprocess,
            .batch = session.model.batch,
            .seed = session.seed,
            .worker = device,
            .workers = replicas.size()};
  };
  train::Session& first = replicas.session(0);
  if (train::steps_by_host(replicas))
    return {nullptr, std::make_unique<train::HostBatches>(replicas, [&](int device) {
              return data::batches_of(fed.samples)(stream_of(device));
            })};
  return {train::feed_device(first, fed.samples, stream_of(0), *train::find_feed(wanted)), nullptr};
}

// Nothing is exchanged or summed where nothing is learnt.
void check_mode(const BenchOptions& options, const train::Deployment& deployment) {
  const bool infers = options.run.mode != "train";
  if (infers && deployment.micro_batches > 1)
    fail(ErrorKind::usage, "{} {}: there are no gradients to accumulate ({} {})", Setting{"mode"},
         options.run.mode, Setting{"accumulate"}, deployment.micro_batches);
  if (options.ops && deployment.micro_batches > 1)
    fail(ErrorKind::usage, "{}: times the kernels of one batch, and a step has several ({} {})",
         Setting{"ops"}, Setting{"accumulate"}, deployment.micro_batches);
  check_by_host(options.feed, options.deployment);
  const bool alone =
      deployment.strategy == train::Strategy::single || deployment.strategy == train::Strategy::independent;
  if (infers && !alone)
    fail(ErrorKind::usage, "{} {}: {} {} exchanges gradients; single or independent do not", Setting{"mode"},
         options.run.mode, Setting{"strategy"}, deployment.strategy_name());
}

// Returns the step of device 0 that follows the timed steps.
backend::StepContext next_step(const BenchOptions& options, const train::TimedSteps& timed) {
  return {train::device_seed(options.run.seed, 0),
          static_cast<std::int64_t>(timed.warmup_seconds.size() + timed.seconds.size())};
}

Measurement measurement_of_steps(const train::TimedSteps& timed) {
  return {.warmup_seconds = timed.warmup_seconds,
          .step_seconds = timed.seconds,
          .images_consumed = timed.images_consumed,
          .counted_steps = static_cast<std::int64_t>(timed.seconds.size()),
          .cpu = timed.cpu,
          .noise = timed.noise,
          .cores_in_reach = timed.cores_in_reach,
          .core_distance = timed.core_distance,
          .event_seconds = timed.event_seconds,
          .wall_seconds = timed.wall_seconds,
          .input_wait_seconds = timed.input_wait_seconds,
          .gpu = timed.gpu};
}

// Runs the timed steps until there are enough of them or somebody asks to stop.
train::TimedSteps time_until_enough(const BenchOptions& options, train::Replicas& replicas,
                                    const Feeds& feeds, train::StepTracer* tracer, record::StoppingRule& rule,
                                    ProgressListener* progress) {
  Progress bar(progress, "bench " + options.run.network, options.steps + options.warmup_steps);
  return train::time_steps(replicas, {options.warmup_steps, options.steps,
                                      [&](std::int64_t done, double seconds) {
                                        bar.update(done,
                                                   bar.due() ? format_seconds(seconds) + " a step" : "");
                                        const bool enough = done > options.warmup_steps && rule.add(seconds);
                                        return !enough && !process::StopRequest::asked();
                                      },
                                      feeds.of_gpu.get(), feeds.of_host.get(), tracer});
}

BenchResult bench_steps(const BenchOptions& options, ProgressListener* progress) {
  const RunStart start;
  const process::StopRequest guard;
  record::StoppingRule rule(to_limits(options.stopping, options.steps));
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  train::SessionOptions wanted = to_session(options.run);
  wanted.model.batch = deployment.batch_per_device(options.run.batch);
  const std::optional<Fed> fed = feed_for(options);
  if (fed) wanted.model.input = fed->input.network;
  const std::string weights = give_weights(options.run, wanted);
  if (progress != nullptr && !weights.empty())
    progress->note(fmt::format("{}: {}", options.run.network, weights));
  const RoofsAround roofs(options, wanted, deployment.devices);
  train::Replicas replicas(wanted, deployment);
  replicas.run([&](int device) {
    engine::initialise_inputs(replicas.session(device).executor(),
                              train::device_seed(options.run.seed, device));
  });
  const Feeds feeds = fed ? start_feeds(replicas, *fed, options.feed) : Feeds{};

  process::StopRequest::check();

  const auto tracer = make_tracer(options.trace);
  const train::TimedSteps timed = time_until_enough(options, replicas, feeds, tracer.get(), rule, progress);
  // A bench that was asked to stop skips the measurements that remain.
  const bool interrupted = process::StopRequest::asked();
  std::optional<engine::OpBreakdown> ops;
  if (options.ops && !interrupted)
    ops = engine::measure_ops(replicas.session(0).executor(), next_step(options, timed));
  Measurement measured = measurement_of_steps(timed);
  measured.feed = fed ? options.feed.c_str() : "none";
  record::RunRecord run =
      record_under_roofs(options, start, deployment, replicas.facts(), measured, roofs, interrupted);
  if (ops) add_ops(run, *ops);
  if (!weights.empty()) run.words["start"] = weights;
  if (tracer != nullptr && !interrupted) keep_trace(*tracer, options.trace.file, options.run, run);
  run.words["stopped_by"] = record::name(rule.state());
  if (interrupted) mark_interrupted(run, std::ssize(run.step_seconds), options.steps, "timed steps");
  keep_record(run, options.run);
  return {std::move(run), std::move(ops), interrupted};
}

}  // namespace

RoofsAround::RoofsAround(const BenchOptions& options, const train::SessionOptions& session, int devices)
    : session_(session),
      threads_(devices * static_cast<int>(train::share_cores(session.threads, devices).front().size())),
      measures_(!options.no_peak),
      peak_before_(measures_ ? measure_peak(session_, threads_) : 0) {}

double RoofsAround::peak(bool interrupted) const {
  return measures_ && !interrupted ? 0.5 * (peak_before_ + measure_peak(session_, threads_)) : peak_before_;
}

void RoofsAround::add_bandwidths(record::RunRecord& run) const {
  if (measures_) add_bandwidth_roofs(run, session_, threads_);
}

record::RunRecord record_under_roofs(const BenchOptions& options, const RunStart& start,
                                     const train::Deployment& deployment, const train::RunFacts& facts,
                                     Measurement measured, const RoofsAround& roofs, bool interrupted) {
  measured.peak_flops_per_second = roofs.peak(interrupted);
  record::RunRecord run =
      make_record("bench", start, asked_of(options), options.run, deployment, facts, measured);
  if (!interrupted) roofs.add_bandwidths(run);
  return run;
}

void mark_interrupted(record::RunRecord& run, std::int64_t done, std::int64_t wanted, const char* what) {
  run.status = record::Status::interrupted;
  run.reason = fmt::format("interrupted after {} of {} {}", done, wanted, what);
  run.words["stopped_by"] = "signal";
}

BenchResult bench(const BenchOptions& options, ProgressListener* progress) {
  check(options.trace, options.deployment);
  want_choice("bench", "mode", options.run.mode);
  check_mode(options, to_deployment(options.deployment, options.run.batch));
  if (!options.requests.arrivals.empty()) return bench_requests(options, progress);
  if (options.run.mode == "decode") return bench_decoding(options, progress);
  return bench_steps(options, progress);
}

double share_of_time(const engine::OpShare& share, const engine::OpBreakdown& ops) {
  return ops.seconds > 0 ? share.seconds / ops.seconds : 0;
}

namespace {

Json json_of(const std::vector<engine::OpShare>& shares, const engine::OpBreakdown& ops, bool with_op) {
  Json rows = Json::array();
  for (const engine::OpShare& share : shares) {
    Json row{{"category", graph::name(share.category)}};
    if (with_op) row["op"] = share.name;
    row.update({{"seconds", share.seconds},
                {"share", share_of_time(share, ops)},
                {"flops", share.cost.flops},
                {"elementwise_flops", share.cost.elementwise_flops},
                {"bytes", share.cost.bytes_moved},
                {"recomputed_flops", share.recomputed.flops},
                {"count", share.count}});
    rows.push_back(std::move(row));
  }
  return rows;
}

Json json_of(const std::vector<engine::KernelSeconds>& kernels) {
  Json rows = Json::array();
  for (const engine::KernelSeconds& one : kernels)
    rows.push_back({{"name", one.name},
                    {"op", one.op},
                    {"kernel", one.kernel},
                    {"seconds", one.seconds},
                    {"workspace_bytes", one.workspace_bytes}});
  return rows;
}

}  // namespace

void add_ops(record::RunRecord& run, const engine::OpBreakdown& ops) {
  run.figures["op_seconds"] = ops.seconds;
  run.figures["op_coverage"] = run.statistics.steps > 0 ? ops.seconds / run.statistics.median
                                                        : std::numeric_limits<double>::quiet_NaN();
  run.details["ops"] = json_text(Json{{"rounds", ops.rounds},
                                      {"by_category", json_of(ops.by_category, ops, false)},
                                      {"by_op", json_of(ops.by_op, ops, true)},
                                      {"kernels", json_of(ops.kernels)}});
}

}  // namespace trainyard::run
