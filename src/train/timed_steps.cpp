#include "train/timed_steps.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/clock.h"
#include "base/cores.h"
#include "train/device_loop.h"
#include "train/independent.h"

namespace trainyard::train {
namespace {

// Calls take(step) until there are enough; the results of each device that leads or works alone.
class Loop {
 public:
  explicit Loop(const TimingOptions& options) : options_(options) {}

  template <typename Take, typename Enough>
  void run(const Take& take, const Enough& enough) {
    for (std::int64_t step = 0; step < options_.warmup_steps + options_.steps; ++step) {
      if (step == options_.warmup_steps) guard_.emplace();
      const double began = now_seconds();
      const std::int64_t images = take(step);
      const double seconds = now_seconds() - began;
      (step < options_.warmup_steps ? warmup_seconds : step_seconds).push_back(seconds);
      if (step >= options_.warmup_steps) step_images.push_back(images);
      if (enough(step + 1, seconds)) break;
    }
    if (!guard_) return;
    cpu = guard_->cpu_use();
    noise = guard_->finish();
  }

  std::vector<double> warmup_seconds, step_seconds;
  std::vector<std::int64_t> step_images;
  meter::CpuUse cpu;
  std::vector<record::Warning> noise;

 private:
  const TimingOptions& options_;
  std::optional<meter::NoiseGuard> guard_;
};

// A device times its own steps; the host only hears of them, some at a time.
TimedSteps time_on_device(Session& session, std::uint64_t seed, const TimingOptions& options) {
  DeviceLoop loop(session, seed, options.feed);
  const meter::GpuWatch watch(session.executor().device().pci_address());
  TimedSteps timed;
  std::int64_t step = 0;
  const auto run = [&](std::int64_t until, std::vector<double>& seconds, bool counted) {
    while (step < until) {
      const DeviceLoop::Done done = loop.run(step, loop.steps_at_once(until - step));
      if (counted) {
        timed.event_seconds += done.event_seconds;
        timed.wall_seconds += done.wall_seconds;
        timed.input_wait_seconds += done.wait_seconds;
      }
      bool enough = false;
      for (const double each : done.seconds) {
        seconds.push_back(each);
        ++step;
        if (options.after_step != nullptr && !options.after_step(step, each)) enough = true;
      }
      if (enough) return;
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
  return timed;
}

}  // namespace

TimedSteps time_steps(Replicas& replicas, const TimingOptions& options) {
  if (!replicas.session(0).executor().on_host())
    return time_on_device(replicas.session(0), replicas.session(0).options().seed, options);
  const Replicas::Feed in_place = [&](int device) { return replicas.session(device).options().model.batch; };
  const auto last = [&](std::int64_t done, double seconds) {
    return options.after_step != nullptr && !options.after_step(done, seconds);
  };
  std::vector<Loop> loops(static_cast<std::size_t>(replicas.here()), Loop(options));
  Loop& first = loops.front();
  TimedSteps timed;
  if (replicas.deployment().strategy == Strategy::independent) {
    std::atomic<std::int64_t> limit{options.warmup_steps + options.steps};  // device 0's, once it has enough
    replicas.run([&](int device) {
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
    first.run([&](std::int64_t step) { return replicas.step(step, in_place); }, last);
    timed.warmup_seconds = first.warmup_seconds;
    timed.seconds = first.step_seconds;
  }
  for (const Loop& loop : loops)
    for (std::size_t i = 0; i < std::min(loop.step_images.size(), timed.seconds.size()); ++i)
      timed.images_consumed += loop.step_images[i];
  timed.cpu = first.cpu;
  timed.noise = first.noise;
  timed.cores_in_reach = cores_in_reach();
  return timed;
}

}  // namespace trainyard::train
