#pragma once

#include <cstdint>
#include <vector>

#include "train/feed.h"
#include "train/session.h"
#include "train/step_tracer.h"
#include "train/training.h"

namespace trainyard::train {

// Steps that a device does by itself, several to a launch, with nothing for the host to do between them; or
// one to a launch, with batches that the host sends ahead of them.
class DeviceLoop {
 public:
  struct Done {
    std::vector<float> losses;
    std::vector<double> seconds;  // each from the end of the one before, by the device's clock
    double event_seconds = 0;     // of all of them, between two events of the device's queue
    double wall_seconds = 0;      // the same by the host's clock
    double wait_seconds = 0;      // of event_seconds, those in which no step had its batch; fed by the host
  };

  // `feed`: whence the batches come; null: they are there. Both must outlive the loop.
  // REQUIRES: the session's device is not the host.
  DeviceLoop(Session& session, std::uint64_t seed, HostFeed* feed = nullptr)
      : session_(session), seed_(seed), feed_(feed) {}

  // Steps [first, first + count); count <= engine::Executor::kMarks. Waits for them.
  Done run(std::int64_t first, std::int64_t count);

  // One step that a tracer notes, as it chose: as a whole, or kernel by kernel.
  Done run_noted(std::int64_t step, StepTracer& tracer);

  // Returns how many steps to launch so that the host hears of them some times a second: `most`, or fewer.
  std::int64_t steps_at_once(std::int64_t most) const;

 private:
  void start(std::int64_t first, std::int64_t count);
  Done run_watched(std::int64_t step, StepTracer& tracer);

  Session& session_;
  std::uint64_t seed_;
  HostFeed* feed_;
  double step_seconds_ = 0;  // of the last run; 0: none yet
};

// One network per device, each with its own seed, order of data and folder; nothing is exchanged, no step
// waits for another device's. `folders` is empty or has one for each device. The first error ends the others
// after their current step.
std::vector<TrainResult> run_independent(const SessionOptions& options, const Deployment& deployment,
                                         const data::Dataset& dataset, const TrainOptions& train,
                                         const std::vector<std::unique_ptr<RunFolder>>& folders);

// Combines the results into one: losses and accuracy are means, images are counted together.
TrainResult combine(const std::vector<TrainResult>& devices);

// Step i of replicas that ran on their own, as if of one run: images over it give the sum of the devices'
// speeds in their step i. As long as the shortest.
std::vector<double> combine_steps(const std::vector<std::vector<double>>& step_seconds);

}  // namespace trainyard::train
