#include "trainyard/measure.h"

#include "api/session_options.h"
#include "engine/canonical.h"
#include "meter/process_stat.h"
#include "record/run_record.h"
#include "train/loop/timed_steps.h"

namespace trainyard {
namespace {

Measurement measure_here(const train::SessionOptions& options, const MeasureSettings& settings) {
  train::Replicas replicas(options, {});
  engine::initialise_inputs(replicas.session(0).executor(), options.seed);
  const train::TimedSteps timed = train::time_steps(
      replicas, {settings.warmup_steps, settings.steps, [](std::int64_t, double) { return true; }});
  const train::RunFacts facts = replicas.facts();
  const record::StepStatistics steps =
      record::describe_steps(timed.seconds, static_cast<double>(settings.run.batch));
  Measurement measured{.step_seconds = timed.seconds,
                       .mean_seconds = steps.mean,
                       .median_seconds = steps.median,
                       .min_seconds = steps.min,
                       .p95_seconds = steps.p95,
                       .mean_low = steps.mean_interval.low,
                       .mean_high = steps.mean_interval.high,
                       .images_per_second = static_cast<double>(settings.run.batch) / steps.mean,
                       .cost = {facts.parameters, facts.flops_per_step, facts.bytes_per_step},
                       .flops_per_second = static_cast<double>(facts.flops_per_step) / steps.mean,
                       .plan_bytes = facts.plan_bytes,
                       .peak_bytes = meter::peak_resident_bytes(),
                       .device_bytes = facts.device_bytes,
                       .backend = facts.backend,
                       .threads = facts.threads};
  for (const record::Warning& warning : timed.noise) measured.warnings.push_back(warning.text);
  return measured;
}

}  // namespace

Measurement measure_network(const Network& network, const MeasureSettings& settings) {
  api::want_number("steps", static_cast<double>(settings.steps));
  api::want_number("warmup_steps", static_cast<double>(settings.warmup_steps), "warmup");
  train::SessionOptions options = api::session_options(network, settings.run, settings.training);
  api::give_weights(network, settings.run, options);
  return api::run_apart([&] { return measure_here(options, settings); });
}

}  // namespace trainyard
