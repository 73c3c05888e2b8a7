#pragma once

#include "predict/analytic/predictor.h"
#include "predict/kernels/kernel_shape.h"

namespace trainyard::predict {

// AlikeKernels counts the equal nodes of a step once.
struct AlikeKernels {
  KernelShape shape;
  double count = 1;
  // As measured: the mean of the nodes that ran, and their share of all. A neighbour did the work of the
  // others.
  double seconds = 0, share = 0;
};

// Returns the kernels of a training step, without seconds. Throws Error (config) naming an unknown network.
std::vector<AlikeKernels> kernels_of(const JobDescription& job);

// Returns the same kernels with the measurements of a run's record. Copies into another layout or type that
// the plan put before a node are part of its seconds. REQUIRES: the run has kernels.
std::vector<AlikeKernels> measured_kernels(const TableRun& run);

}  // namespace trainyard::predict
