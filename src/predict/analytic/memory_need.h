#pragma once

#include <vector>

#include "predict/runs/device.h"
#include "predict/runs/network_work.h"

namespace trainyard::predict {

// MemoryNeed is the bytes of a training step on a device, from first principles. The workspace of a kernel is
// estimated as all that the largest kernel reads and writes, which is what a convolution by matrix products
// lays out.
struct MemoryNeed {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0;
  double overhead = 0;  // of process, libraries and recorded steps; first principles know nothing of it

  double total() const { return weights + gradients + optimizer + activations + workspace + overhead; }
};
MemoryNeed memory_need(const NetworkWork& work);

// MemoryModel holds the share of its memory that a device has for a step, and the deviation of the need, as a
// logarithm.
struct MemoryModel {
  double usable_share = 0.95;
  double deviation = 0.05;

  // Returns the probability that a step does not fit: about one half where need and share agree.
  double oom_probability(double bytes, const DeviceSheet& device) const;
};

struct MemorySample {
  double bytes = 0, memory_bytes = 0;
  bool oom = false;
};
// Finds the most likely share, given the runs that fitted and those that did not. Samples on one side only
// tell little.
MemoryModel fit_memory(const std::vector<MemorySample>& samples);

}  // namespace trainyard::predict
