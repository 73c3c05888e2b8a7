#pragma once

#include "train/exchange/replicas.h"
#include "train/loop/feed.h"
#include "train/loop/step_taker.h"

namespace trainyard::train {

struct TimingOptions {
  std::int64_t warmup_steps = 5, steps = 50;
  // After each step, in device 0's thread, with the steps done so far; false: enough, also while warming up.
  std::function<bool(std::int64_t done, double seconds)> after_step;
  HostFeed* feed = nullptr;        // of device 0, which is not the host
  HostBatches* batches = nullptr;  // of devices that are the host
  // Null: nobody traces. Steps that it traces are not among the timed ones; where nobody said which, they
  // come behind them, unless a StopRequest was asked to stop. REQUIRES: devices that are not independent.
  StepTracer* tracer = nullptr;
};

// The measures of use are over the timed steps alone.
struct TimedSteps : StepsUse {
  std::vector<double> warmup_seconds, seconds;
  // Over the timed steps alone:
  std::int64_t images_consumed = 0;
  // The time of steps that a device did by itself: all of them between two events of its queue, and by the
  // host's clock. On the host there is only the clock.
  double event_seconds = 0, wall_seconds = 0;
};

// Steps on whatever the inputs hold, or on the batches of a feed. Independent devices take theirs without
// waiting for each other. Nothing is resumed, evaluated or saved, and a part of the steps warms up: hence no
// frame of loop.h, but the same StepTakers.
TimedSteps time_steps(Replicas& replicas, const TimingOptions& options);

}  // namespace trainyard::train
