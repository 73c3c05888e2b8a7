#include "train/timed_steps.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

#include "base/clock.h"
#include "base/cores.h"
#include "meter/peaks.h"
#include "process/stop_request.h"
#include "train/device_loop.h"

namespace trainyard::train {
namespace {

bool is_traced(const TimingOptions& options, std::int64_t step) {
  return options.tracer != nullptr && options.tracer->kind(step) == StepTracer::Kind::traced;
}

// Calls take(step) until there are enough; the results of each device that leads or works alone.
class Loop {
 public:
  explicit Loop(const TimingOptions& options) : options_(options) {}

  int device = -1;            // whose steps these are; -1: of all together
  bool has_all_cores = true;  // the team of its thread is all that computes

  template <typename Take, typename Enough>
  void run(const Take& take, const Enough& enough) {
    for (std::int64_t step = 0; step < options_.warmup_steps + options_.steps; ++step) {
      if (step == options_.warmup_steps) {
        if (has_all_cores) core_distance.before = meter::handoff_seconds(meter::kDistanceSeconds);
        guard_.emplace();
        input_wait_seconds = -waited();
      }
      if (is_traced(options_, step)) {
        take(step);
        continue;
      }
      const double began = now_seconds();
      const std::int64_t images = take(step);
      const double seconds = now_seconds() - began;
      (step < options_.warmup_steps ? warmup_seconds : step_seconds).push_back(seconds);
      if (step >= options_.warmup_steps) step_images.push_back(images);
      if (enough(step + 1, seconds)) break;
    }
    if (!guard_) return;
    input_wait_seconds += waited();
    cpu = guard_->cpu_use();
    noise = guard_->finish();
    if (has_all_cores) core_distance.after = meter::handoff_seconds(meter::kDistanceSeconds);
  }

  std::vector<double> warmup_seconds, step_seconds;
  std::vector<std::int64_t> step_images;
  meter::CpuUse cpu;
  std::vector<record::Warning> noise;
  double input_wait_seconds = 0;
  meter::CoreDistance core_distance;

 private:
  double waited() const {
    if (options_.batches == nullptr) return 0;
    return device < 0 ? options_.batches->longest_wait_seconds() : options_.batches->wait_seconds(device);
  }

  const TimingOptions& options_;
  std::optional<meter::NoiseGuard> guard_;
};

// Traces steps when nobody chose which. `next`: the first step that is not done.
template <typename Take>
void trace_behind(const TimingOptions& options, std::int64_t next, const Take& take) {
  if (options.tracer == nullptr || options.tracer->is_chosen() || process::StopRequest::asked()) return;
  const std::int64_t count = options.tracer->count();
  options.tracer->choose(next + count, next, next + 2 * count);
  for (std::int64_t step = next; step < options.tracer->end(); ++step) take(step);
}

// A device times its own steps; the host only hears of them, some at a time.
TimedSteps time_on_device(Session& session, std::uint64_t seed, const TimingOptions& options) {
  DeviceLoop loop(session, seed, options.feed);
  if (options.tracer != nullptr)
    options.tracer->add_device("device 0 (" + session.backend().name() + ")", session.executor());
  const meter::GpuWatch watch(session.executor().device().pci_address());
  TimedSteps timed;
  std::int64_t step = 0;
  bool enough = false;
  const auto run = [&](std::int64_t until, std::vector<double>& seconds, bool counted) {
    while (step < until && !enough) {
      const std::int64_t most =
          options.tracer == nullptr ? until - step : options.tracer->unnoted(step, until - step);
      const bool noted = options.tracer != nullptr && options.tracer->kind(step) != StepTracer::Kind::none;
      const bool traced = is_traced(options, step);
      const DeviceLoop::Done done =
          noted ? loop.run_noted(step, *options.tracer) : loop.run(step, loop.steps_at_once(most));
      if (traced) {
        ++step;
        continue;
      }
      if (counted) {
        timed.event_seconds += done.event_seconds;
        timed.wall_seconds += done.wall_seconds;
        timed.input_wait_seconds += done.wait_seconds;
      }
      for (const double each : done.seconds) {
        seconds.push_back(each);
        ++step;
        if (options.after_step != nullptr && !options.after_step(step, each)) enough = true;
      }
    }
  };
  run(options.warmup_steps, timed.warmup_seconds, false);
  const meter::NoiseGuard guard(watch.nvml());
  timed.gpu.before = watch.sample();
  run(options.warmup_steps + options.steps, timed.seconds, true);
  timed.gpu.after = watch.sample();
  timed.cpu = guard.cpu_use();
  timed.noise = guard.finish();
  timed.images_consumed = static_cast<std::int64_t>(timed.seconds.size()) * session.options().model.batch;
  timed.cores_in_reach = cores_in_reach();
  trace_behind(options, step, [&](std::int64_t noted) { loop.run_noted(noted, *options.tracer); });
  return timed;
}

}  // namespace

TimedSteps time_steps(Replicas& replicas, const TimingOptions& options) {
  if (options.tracer != nullptr && options.tracer->is_chosen())
    options.tracer->choose(0, 0, options.warmup_steps + options.steps);
  if (!replicas.session(0).executor().on_host())
    return time_on_device(replicas.session(0), replicas.session(0).options().seed, options);
  const Replicas::Feed in_place = [&](int device) {
    return options.batches != nullptr ? options.batches->fill(device, options.tracer)
                                      : replicas.session(device).options().model.batch;
  };
  const auto last = [&](std::int64_t done, double seconds) {
    return options.after_step != nullptr && !options.after_step(done, seconds);
  };
  std::vector<Loop> loops(static_cast<std::size_t>(replicas.here()), Loop(options));
  Loop& first = loops.front();
  for (Loop& loop : loops) loop.has_all_cores = replicas.deployment().devices == 1;
  TimedSteps timed;
  if (replicas.deployment().strategy == Strategy::independent) {
    std::atomic<std::int64_t> limit{options.warmup_steps + options.steps};  // device 0's, once it has enough
    replicas.run([&](int device) {
      loops[static_cast<std::size_t>(device)].device = device;
      loops[static_cast<std::size_t>(device)].run(
          [&](std::int64_t step) { return replicas.take_part(device, step, in_place); },
          [&](std::int64_t done, double seconds) {
            if (device == 0 && last(done, seconds)) limit = done;
            return done >= limit;
          });
    });
    std::vector<std::vector<double>> warmup, steps;
    for (const Loop& loop : loops) {
      warmup.push_back(loop.warmup_seconds);
      steps.push_back(loop.step_seconds);
    }
    timed.warmup_seconds = combine_steps(warmup);
    timed.seconds = combine_steps(steps);
  } else {
    replicas.trace(options.tracer);
    first.run([&](std::int64_t step) { return replicas.step(step, in_place); }, last);
    timed.warmup_seconds = first.warmup_seconds;
    timed.seconds = first.step_seconds;
    trace_behind(options, static_cast<std::int64_t>(timed.warmup_seconds.size() + timed.seconds.size()),
                 [&](std::int64_t step) { replicas.step(step, in_place); });
    replicas.trace(nullptr);
  }
  for (const Loop& loop : loops)
    for (std::size_t i = 0; i < std::min(loop.step_images.size(), timed.seconds.size()); ++i)
      timed.images_consumed += loop.step_images[i];
  for (const Loop& loop : loops)
    timed.input_wait_seconds = std::max(timed.input_wait_seconds, loop.input_wait_seconds);
  timed.wall_seconds = std::accumulate(timed.seconds.begin(), timed.seconds.end(), 0.0);
  timed.cpu = first.cpu;
  timed.noise = first.noise;
  timed.core_distance = first.core_distance;
  timed.cores_in_reach = cores_in_reach();
  return timed;
}

}  // namespace trainyard::train
