#include "base/text.h"
#include "process/stop_request.h"
#include "run/bench_inference.h"
#include "run/decode_rounds.h"
#include "train/loop/step_taker.h"

namespace trainyard::run {

namespace {

// Rounds that were timed. A round is what other modes call a step.
struct TimedRounds {
  std::vector<double> warmup_seconds, seconds;
  RoundTimes parts;
  train::StepsUse use;
};

TimedRounds time_rounds(const BenchOptions& options, DecodeRounds& rounds, record::StoppingRule& rule,
                        ProgressListener* progress) {
  Progress bar(progress, "bench " + options.run.network, options.steps + options.warmup_steps);
  TimedRounds timed;
  train::StepMeter meter(rounds.decoding().executor());
  RoundTimes warm;
  for (std::int64_t round = 0; round < options.warmup_steps && !process::StopRequest::asked(); ++round) {
    const double began = now_seconds();
    rounds.run(warm);
    timed.warmup_seconds.push_back(now_seconds() - began);
    bar.update(round + 1, "");
  }
  meter.begin();
  for (bool enough = false; !enough && !process::StopRequest::asked();) {
    const double began = now_seconds();
    rounds.run(timed.parts);
    timed.seconds.push_back(now_seconds() - began);
    enough = rule.add(timed.seconds.back());
    bar.update(options.warmup_steps + std::ssize(timed.seconds),
               bar.due() ? format_seconds(timed.parts.tokens.back()) + " a token" : "");
  }
  timed.use = meter.end(0);
  return timed;
}

train::RunFacts facts_of(const DecodeRounds& rounds) {
  const train::Decoding& decoding = rounds.decoding();
  const graph::Cost cost = rounds.round_cost();
  return {.backend = decoding.backend().name(),
          .threads = decoding.threads(),
          .parameters = decoding.parameters(),
          .flops_per_step = cost.flops,
          .bytes_per_step = cost.bytes_moved,
          .plan_bytes = decoding.plan_bytes(),
          .device_bytes = decoding.device_bytes(),
          .collective = ""};
}

// A step does few products with each number that it reads, so bandwidth is its roof.
void add_bandwidth(record::RunRecord& run) {
  const double seconds = run.figure_or("median_token_seconds", 0),
               roof = run.figure_or("peak_bytes_per_second", 0);
  if (!(seconds > 0)) return;
  const double rate = run.figure_or("decode_step_bytes", 0) / seconds;
  run.figures["decode_bytes_per_second"] = rate;
  if (roof > 0) run.figures["decode_bandwidth_fraction"] = rate / roof;
}

}  // namespace

void check_no_steps(const BenchOptions& options) {
  const std::string how = options.requests.arrivals.empty()
                              ? fmt::format("{} {}", Setting{"mode"}, options.run.mode)
                              : fmt::format("{} {}", Setting{"arrivals"}, options.requests.arrivals);
  if (options.deployment.devices > 1)
    fail(ErrorKind::usage, "{}: is about one device ({} {})", how, Setting{"devices"},
         options.deployment.devices);
  if (options.feed != "auto")
    fail(ErrorKind::usage, "{}: nobody makes batches ahead ({} {})", how, Setting{"feed"}, options.feed);
  if (!options.trace.file.empty()) fail(ErrorKind::usage, "{}: has no steps for a {}", how, Setting{"trace"});
  if (options.ops)
    fail(ErrorKind::usage, "{}: has no steps whose kernels {} could time", how, Setting{"ops"});
}

BenchResult bench_decoding(const BenchOptions& options, ProgressListener* progress) {
  const RunStart start;
  const process::StopRequest guard;
  check_no_steps(options);
  record::StoppingRule rule(to_limits(options.stopping, options.steps));
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  const train::DecodingOptions network = to_decoding(options.run, options.decode, options.run.batch);
  const RoofsAround roofs(options, to_session(options.run), 1);
  DecodeRounds rounds(network, options.decode);
  process::StopRequest::check();

  const TimedRounds timed = time_rounds(options, rounds, rule, progress);
  const bool interrupted = process::StopRequest::asked();
  const auto count = std::ssize(timed.seconds);
  const Measurement measured{.warmup_seconds = timed.warmup_seconds,
                             .step_seconds = timed.seconds,
                             .images_consumed = count * options.run.batch,
                             .counted_steps = count,
                             .cpu = timed.use.cpu,
                             .noise = timed.use.noise,
                             .cores_in_reach = timed.use.cores_in_reach,
                             .core_distance = timed.use.core_distance,
                             .wall_seconds = std::accumulate(timed.seconds.begin(), timed.seconds.end(), 0.0),
                             .gpu = timed.use.gpu};
  record::RunRecord run =
      record_under_roofs(options, start, deployment, facts_of(rounds), measured, roofs, interrupted);
  add_decode_figures(run, options.decode, rounds, timed.parts, static_cast<double>(options.run.batch));
  if (!timed.parts.prompts.empty()) add_first_token_figures(run, serve::tail_of(timed.parts.prompts));
  add_bandwidth(run);
  run.words["stopped_by"] = record::name(rule.state());
  if (interrupted) mark_interrupted(run, count, options.steps, "timed rounds");
  keep_record(run, options.run);
  return {std::move(run), std::nullopt, interrupted};
}

}  // namespace trainyard::run
