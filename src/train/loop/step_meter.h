#pragma once

#include <optional>
#include <vector>

#include "meter/gpu_watch.h"
#include "meter/noise.h"
#include "meter/peaks.h"
#include "train/exchange/replicas.h"

namespace trainyard::train {

// The resources that steps used, and what disturbed them.
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

  void begin();
  // `input_wait_seconds`: of the devices of this process.
  StepsUse end(double input_wait_seconds);

 private:
  double add_other_ranks(StepsUse& use) const;

  Replicas& replicas_;
  const meter::GpuWatch watch_;
  const bool has_all_cores_;  // the team of device 0's thread is all that computes
  meter::GpuUse gpu_;
  meter::CoreDistance distance_;
  std::optional<meter::NoiseGuard> guard_;
};

}  // namespace trainyard::train
