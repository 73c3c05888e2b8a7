#pragma once

#include <vector>

#include "predict/runs/device.h"
#include "predict/runs/network_work.h"

namespace trainyard::predict {

// Bytes that a training step has on a device, from first principles. Working space of a kernel is taken to be
// as large as what the largest one reads and writes, which is what a convolution by matrix products lays out.
struct MemoryNeed {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0;
  double overhead = 0;  // of process, libraries and recorded steps; first principles know nothing of it

  double total() const { return weights + gradients + optimizer + activations + workspace + overhead; }
};
MemoryNeed memory_need(const NetworkWork& work);

// What a device has of its memory for a step, and how far the need may be off, as a logarithm.
struct MemoryModel {
  double usable_share = 0.95;
  double deviation = 0.05;

  // That a step does not fit: about one half where need and share agree.
  double oom_probability(double bytes, const Device& device) const;
};

struct MemorySample {
  double bytes = 0, memory_bytes = 0;
  bool oom = false;
};
// The most likely share, given what ran and what did not; samples on one side only tell little.
MemoryModel fit_memory(const std::vector<MemorySample>& samples);

}  // namespace trainyard::predict
