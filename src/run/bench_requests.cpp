#include "base/json.h"
#include "base/text.h"
#include "process/stop_request.h"
#include "run/bench_inference.h"
#include "run/served_network.h"
#include "stats/statistics.h"
#include "train/loop/step_taker.h"

namespace trainyard::run {

namespace {

// A size that the network was compiled for, and what came of it.
struct CompiledBatch {
  std::int64_t batch = 0, batches = 0;
  double seconds = 0;  // median, before the requests came
};

// The sizes that are run while nobody measures: the times of the largest go to the record as warm-up.
struct WarmUp {
  std::vector<CompiledBatch> sizes;
  std::vector<double> full_seconds;
};

WarmUp warm_up(const BenchOptions& options, ServedNetwork& network, const std::vector<std::int64_t>& sizes) {
  WarmUp warm;
  const std::int64_t times = std::max<std::int64_t>(options.warmup_steps, 1);
  for (std::size_t size = 0; size < sizes.size(); ++size) {
    std::vector<double> seconds;
    for (std::int64_t i = 0; i < times && !process::StopRequest::asked(); ++i) {
      const double began = now_seconds();
      network.answer(size);
      seconds.push_back(now_seconds() - began);
    }
    process::StopRequest::check();
    warm.sizes.push_back({.batch = sizes[size], .seconds = stats::median(seconds)});
    warm.full_seconds = std::move(seconds);  // the last is the largest
  }
  network.forget_times();
  return warm;
}

serve::QueueOptions queue_of(const BenchOptions& options) {
  const double limit = options.stopping.max_seconds;
  return {.arrivals = serve::Arrivals::parse(options.requests.arrivals),
          .requests = options.requests.requests,
          .max_seconds = limit > 0 ? limit : std::numeric_limits<double>::infinity(),
          .batch = options.run.batch,
          .wait_seconds = options.requests.wait_seconds,
          .seed = options.run.seed,
          .stop = [] { return process::StopRequest::asked(); }};
}

// Returns the work of a batch on average: those that were not full ran as smaller sizes.
train::RunFacts facts_of(const ServedNetwork& network, const std::vector<CompiledBatch>& sizes,
                         std::int64_t batches) {
  train::RunFacts facts = network.facts();
  for (std::size_t size = 0; size < sizes.size(); ++size) {
    const graph::Cost cost = network.cost(size);
    const double share = static_cast<double>(sizes[size].batches) / static_cast<double>(batches);
    facts.flops_per_step += std::llround(share * static_cast<double>(cost.flops));
    facts.bytes_per_step += std::llround(share * static_cast<double>(cost.bytes_moved));
  }
  return facts;
}

std::string json_of(const std::vector<CompiledBatch>& sizes) {
  Json rows = Json::array();
  for (const CompiledBatch& size : sizes)
    rows.push_back({{"batch", size.batch}, {"seconds", size.seconds}, {"batches", size.batches}});
  return json_text(rows);
}

double padding(const std::vector<CompiledBatch>& sizes, std::size_t requests) {
  double places = 0;
  for (const CompiledBatch& size : sizes) places += static_cast<double>(size.batch * size.batches);
  return 1 - static_cast<double>(requests) / places;
}

void add_request_figures(record::RunRecord& run, const serve::QueueOptions& queue,
                         const serve::LatencySummary& told, std::size_t requests) {
  if (queue.arrivals.is_open()) run.figures["offered_requests_per_second"] = queue.arrivals.rate;
  run.figures["requests"] = static_cast<double>(requests);
  run.figures["requests_per_second"] = told.requests_per_second;
  run.figures["capacity_requests_per_second"] = told.capacity_per_second;
  run.figures["median_request_seconds"] = told.latency.median;
  run.figures["p95_request_seconds"] = told.latency.p95;
  run.figures["p99_request_seconds"] = told.latency.p99;
  run.figures["max_request_seconds"] = told.latency.max;
  run.figures["median_queue_seconds"] = told.queue.median;
  run.figures["p99_queue_seconds"] = told.queue.p99;
  run.figures["peak_queue_requests"] = static_cast<double>(told.peak_queue);
  run.figures["batch_fill_fraction"] = told.fill;
  run.figures["busy_fraction"] = told.busy;
}

void warn_of_overload(record::RunRecord& run, const serve::QueueOptions& queue,
                      const serve::LatencySummary& told) {
  if (!told.overloaded) return;
  run.warnings.push_back(
      {"overload",
       fmt::format(
           "{:.4g} requests a second came, and full batches of {} answer {:.4g}: the queue grew to {} "
           "requests, and latencies say how long that went on, not what users of a machine that keeps "
           "up would see",
           queue.arrivals.rate, queue.batch, told.capacity_per_second, told.peak_queue)});
}

}  // namespace

BenchResult bench_requests(const BenchOptions& options, ProgressListener* progress) {
  const RunStart start;
  const process::StopRequest guard;
  if (options.run.mode == "train")
    fail(ErrorKind::usage, "{} {}: requests want {} infer or decode", Setting{"arrivals"},
         options.requests.arrivals, Setting{"mode"});
  check_no_steps(options);
  serve::QueueOptions queue = queue_of(options);
  const std::vector<std::int64_t> sizes = batch_sizes(options.requests.sizes, options.run.batch);
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  const RoofsAround roofs(options, to_session(options.run), 1);
  const std::unique_ptr<ServedNetwork> network = make_served_network(options, sizes);
  process::StopRequest::check();

  train::StepMeter meter(network->executor());
  WarmUp warm = warm_up(options, *network, sizes);
  Progress bar(progress, "bench " + options.run.network, queue.requests);
  queue.progress = [&](std::int64_t answered) { bar.update(answered, ""); };
  serve::SteadyClock clock;
  meter.begin();
  const serve::Answered answered = serve::serve(queue, clock, [&](std::int64_t requests) {
    const std::size_t size = size_for(sizes, requests);
    ++warm.sizes[size].batches;
    return network->answer(size);
  });
  const train::StepsUse use = meter.end(0);
  if (answered.requests.empty()) {
    process::StopRequest::check();
    fail(ErrorKind::config, "{} {}: no request was due within {} {}", Setting{"arrivals"},
         options.requests.arrivals, Setting{"max_seconds"}, options.stopping.max_seconds);
  }

  std::vector<double> seconds;
  for (const serve::Batch& batch : answered.batches) seconds.push_back(batch.ended - batch.begun);
  const auto batches = std::ssize(answered.batches), requests = std::ssize(answered.requests);
  const Measurement measured{.warmup_seconds = warm.full_seconds,
                             .step_seconds = seconds,
                             .images_consumed = requests,
                             .counted_steps = batches,
                             .cpu = use.cpu,
                             .noise = use.noise,
                             .cores_in_reach = use.cores_in_reach,
                             .core_distance = use.core_distance,
                             .wall_seconds = std::accumulate(seconds.begin(), seconds.end(), 0.0),
                             .gpu = use.gpu};
  record::RunRecord run = record_under_roofs(
      options, start, deployment, facts_of(*network, warm.sizes, batches), measured, roofs, answered.stopped);
  const serve::LatencySummary told = serve::summarise(queue, answered, stats::median(warm.full_seconds));
  run.words["arrivals"] = options.requests.arrivals;
  run.words["stopped_by"] = answered.timed_out ? "seconds" : "requests";
  add_request_figures(run, queue, told, answered.requests.size());
  run.figures["padding_fraction"] = padding(warm.sizes, answered.requests.size());
  run.details["compiled_batches"] = json_of(warm.sizes);
  network->add_figures(run, static_cast<double>(requests) / static_cast<double>(batches));
  if (options.run.mode == "decode") add_first_token_figures(run, told.first);
  warn_of_overload(run, queue, told);
  if (answered.stopped) mark_interrupted(run, requests, queue.requests, "requests");
  keep_record(run, options.run);
  return {std::move(run), std::nullopt, answered.stopped};
}

}  // namespace trainyard::run
