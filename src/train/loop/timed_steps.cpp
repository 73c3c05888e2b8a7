#include "train/loop/timed_steps.h"

#include "base/cores.h"
#include "process/stop_request.h"
#include "train/loop/training.h"

namespace trainyard::train {
namespace {

// The steps of one device, or of all together: some to warm up, then those that count.
class TimedLoop {
 public:
  // `device`: whose steps these are, or HostSteps::kAllDevices. `meter`: null where another device's loop
  // measures. All must outlive this.
  TimedLoop(const TimingOptions& options, StepTaker& taker, int device, StepMeter* meter)
      : options_(options), taker_(taker), device_(device), meter_(meter) {}

  // enough(done, seconds): after each step, whether it was the last.
  template <typename Enough>
  void run(const Enough& enough) {
    if (!take_until(options_.warmup_steps, warmup_seconds, enough)) return;
    if (meter_ != nullptr) meter_->begin();
    counted_ = true;
    input_wait_seconds = -waited();
    take_until(options_.warmup_steps + options_.steps, step_seconds, enough);
    input_wait_seconds += waited();
    if (meter_ != nullptr) use = meter_->end(input_wait_seconds);
  }

  // Traces steps when nobody chose which.
  void trace_behind() {
    StepTracer* tracer = options_.tracer;
    if (tracer == nullptr || tracer->is_chosen() || process::StopRequest::asked()) return;
    tracer->choose(step_ + tracer->count(), step_, step_ + 2 * tracer->count());
    while (step_ < tracer->end()) {
      taker_.take(step_, step_ + 1);
      ++step_;
    }
  }

  std::vector<double> warmup_seconds, step_seconds;
  std::vector<std::int64_t> step_images;
  StepsUse use;
  double event_seconds = 0, wall_seconds = 0, input_wait_seconds = 0;

 private:
  // Returns false when there are enough before.
  template <typename Enough>
  bool take_until(std::int64_t end, std::vector<double>& seconds, const Enough& enough) {
    bool going_on = true;
    while (step_ < end && going_on) {
      const StepsDone& done = taker_.take(step_, end);
      if (done.traced) {
        ++step_;
        continue;
      }
      if (counted_) count(done);
      for (const double each : done.seconds) {
        seconds.push_back(each);
        if (enough(++step_, each)) going_on = false;
      }
    }
    return going_on;
  }

  void count(const StepsDone& done) {
    step_images.insert(step_images.end(), done.seconds.size(), done.images);
    event_seconds += done.event_seconds;
    wall_seconds += done.wall_seconds;
    input_wait_seconds += done.wait_seconds;
  }

  double waited() const {
    if (options_.batches == nullptr) return 0;
    return device_ == HostSteps::kAllDevices ? options_.batches->longest_wait_seconds()
                                             : options_.batches->wait_seconds(device_);
  }

  const TimingOptions& options_;
  StepTaker& taker_;
  const int device_;
  StepMeter* const meter_;
  std::int64_t step_ = 0;  // the next
  bool counted_ = false;
};

// Each device goes through its steps by itself, until device 0 has enough.
void run_alone(Replicas& replicas, const TimingOptions& options, std::vector<TimedLoop>& loops) {
  std::atomic<std::int64_t> limit{options.warmup_steps + options.steps};
  replicas.run([&](int device) {
    loops[static_cast<std::size_t>(device)].run([&](std::int64_t done, double seconds) {
      if (device == 0 && options.after_step != nullptr && !options.after_step(done, seconds)) limit = done;
      return done >= limit;
    });
  });
}

std::vector<std::unique_ptr<StepTaker>> make_takers(Replicas& replicas, const TimingOptions& options) {
  std::vector<std::unique_ptr<StepTaker>> takers;
  Session& first = replicas.session(0);
  if (!steps_by_host(replicas)) {
    takers.push_back(
        std::make_unique<DeviceSteps>(first, first.options().seed, options.feed, options.tracer));
    return takers;
  }
  const Replicas::Feed in_place = [&](int device, std::int64_t) {
    return options.batches != nullptr ? options.batches->fill(device, options.tracer)
                                      : replicas.session(device).options().model.batch;
  };
  if (replicas.deployment().strategy != Strategy::independent)
    takers.push_back(std::make_unique<HostSteps>(replicas, in_place, options.tracer));
  else
    for (int device = 0; device < replicas.here(); ++device)
      takers.push_back(std::make_unique<HostSteps>(replicas, in_place, nullptr, device));
  return takers;
}

}  // namespace

TimedSteps time_steps(Replicas& replicas, const TimingOptions& options) {
  if (options.tracer != nullptr && options.tracer->is_chosen())
    options.tracer->choose(0, 0, options.warmup_steps + options.steps);
  const std::vector<std::unique_ptr<StepTaker>> takers = make_takers(replicas, options);
  const bool alone = takers.size() > 1;
  StepMeter meter(replicas);
  std::vector<TimedLoop> loops;
  for (std::size_t i = 0; i < takers.size(); ++i)
    loops.emplace_back(options, *takers[i], alone ? static_cast<int>(i) : HostSteps::kAllDevices,
                       i == 0 ? &meter : nullptr);
  TimedLoop& first = loops.front();
  if (alone)
    run_alone(replicas, options, loops);
  else
    first.run([&](std::int64_t done, double seconds) {
      return options.after_step != nullptr && !options.after_step(done, seconds);
    });
  TimedSteps timed;
  static_cast<StepsUse&>(timed) = first.use;
  timed.cores_in_reach = cores_in_reach();
  if (!alone) first.trace_behind();
  std::vector<std::vector<double>> warmup, steps;
  for (const TimedLoop& loop : loops) {
    warmup.push_back(loop.warmup_seconds);
    steps.push_back(loop.step_seconds);
    timed.input_wait_seconds = std::max(timed.input_wait_seconds, loop.input_wait_seconds);
  }
  timed.warmup_seconds = alone ? combine_steps(warmup) : first.warmup_seconds;
  timed.seconds = alone ? combine_steps(steps) : first.step_seconds;
  for (const TimedLoop& loop : loops)
    for (std::size_t i = 0; i < std::min(loop.step_images.size(), timed.seconds.size()); ++i)
      timed.images_consumed += loop.step_images[i];
  timed.event_seconds = first.event_seconds;
  timed.wall_seconds = steps_by_host(replicas)
                           ? std::accumulate(timed.seconds.begin(), timed.seconds.end(), 0.0)
                           : first.wall_seconds;
  return timed;
}

}  // namespace trainyard::train
