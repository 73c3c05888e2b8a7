#pragma once

#include "meter/gpu_watch.h"
#include "meter/noise.h"
#include "meter/peaks.h"
#include "train/exchange/replicas.h"
#include "train/loop/feed.h"
#include "train/session/session.h"
#include "train/session/step_tracer.h"

namespace trainyard::train {

// StepsUse holds the resources that steps used, and what disturbed them.
struct StepsUse {
  meter::GpuUse gpu;                   // before the first step, after the last
  meter::CpuUse cpu;                   // from the first step to the end of the last
  std::vector<record::Warning> noise;  // what disturbed them
  std::vector<int> cores_in_reach;     // of any thread, at their end
  meter::CoreDistance core_distance;   // where one device on the host does them
  double input_wait_seconds = 0;       // of the device that waited longest for its batches
};

// Measures the steps between begin() and end(), in the thread of device 0. With ranks all of them measure,
// and get the use of all.
class StepMeter {
 public:
  // Reaches for what it will read, which may take a while. The replicas must outlive it.
  explicit StepMeter(Replicas& replicas);
  // Meters steps that an executor runs alone.
  explicit StepMeter(const engine::Executor& executor);

  void begin();
  // `input_wait_seconds`: of the devices of this process.
  StepsUse end(double input_wait_seconds);

 private:
  double add_other_ranks(StepsUse& use) const;

  StepMeter(Replicas* replicas, const engine::Executor& executor, bool has_all_cores);

  Replicas* const replicas_;  // null: one executor alone
  const meter::GpuWatch watch_;
  const bool has_all_cores_;  // the team of device 0's thread is all that computes
  meter::GpuUse gpu_;
  meter::CoreDistance distance_;
  std::optional<meter::NoiseGuard> guard_;
};

// Steps that were done together: one, or as many as a device did by itself.
struct StepsDone {
  std::int64_t first = 0;
  std::vector<double> losses;   // one a step
  std::vector<double> seconds;  // one a step, each from the end of the one before
  std::int64_t images = 0;      // that each of them consumed
  std::int64_t gradients = 1;   // of one batch, of which each update was made
  bool traced = false;          // kernel by kernel, which costs time
  // A device that times itself gives these times, over all of the steps:
  double event_seconds = 0;  // between two events of its queue
  double wall_seconds = 0;   // the same by the host's clock
  double wait_seconds = 0;   // of event_seconds, those in which no step had its batch; fed by the host
};

// Takes training steps, and nothing else. The loop of a training and that of a benchmark drive it.
class StepTaker {
 public:
  virtual ~StepTaker() = default;

  // Takes step `first`, and further ones below `end` if they come at no cost to the host. Returns when they
  // are done; what it returns is valid until the next call.
  virtual StepsDone& take(std::int64_t first, std::int64_t end) = 0;
};

// Steps that the host starts one by one, on all devices together or in the thread of one alone.
class HostSteps final : public StepTaker {
 public:
  static constexpr int kAllDevices = -1;

  // `tracer` may be null, and must be where it is one device's. Everything must outlive this.
  HostSteps(Replicas& replicas, Replicas::Feed feed, StepTracer* tracer, int device = kAllDevices);
  ~HostSteps() override;
  StepsDone& take(std::int64_t first, std::int64_t end) override;

 private:
  Replicas& replicas_;
  const Replicas::Feed feed_;
  StepTracer* const tracer_;
  const int device_;
  StepsDone done_;
};

// Steps that a device does by itself, several to a launch, with nothing for the host to do between them; or
// one to a launch, with batches that the host sends ahead of them.
class DeviceSteps final : public StepTaker {
 public:
  // `feed`: whence the batches come; null: they are there. `tracer` may be null. All must outlive this.
  // REQUIRES: the session's device is not the host.
  DeviceSteps(Session& session, std::uint64_t seed, HostFeed* feed = nullptr, StepTracer* tracer = nullptr);
  StepsDone& take(std::int64_t first, std::int64_t end) override;

  // Steps [first, first + count); count <= engine::Executor::kMarks. Waits for them.
  StepsDone& run(std::int64_t first, std::int64_t count);

 private:
  // Returns how many steps to launch so that the host hears of them some times a second: `most`, or fewer.
  std::int64_t steps_at_once(std::int64_t most) const;
  void start(std::int64_t first, std::int64_t count);
  // One step that the tracer notes, as it chose: as a whole, or kernel by kernel.
  void run_noted(std::int64_t step);
  void run_watched(std::int64_t step);

  Session& session_;
  const std::uint64_t seed_;
  HostFeed* const feed_;
  StepTracer* const tracer_;
  double step_seconds_ = 0;  // of the last run; 0: none yet
  StepsDone done_;
};

// A GPU repeats steps by itself only where each is one launch: nothing is exchanged in it, and it has one
// batch.
bool steps_by_host(Replicas& replicas);

}  // namespace trainyard::train
