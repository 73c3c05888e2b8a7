#pragma once

#include <string>
#include <vector>

#include "networks/zoo/model.h"
#include "predict/analytic/predictor.h"
#include "predict/kernels/kernel_shape.h"

namespace trainyard::predict {

// Nodes of a step that are alike, once.
struct AlikeKernels {
  KernelShape shape;
  double count = 1;
  // As measured: means of those that ran, and which part of them that was. A neighbour did the others' work.
  double seconds = 0, share = 0;
};

// The job's network with its training step. Error (config) names an unknown network.
networks::Model training_model(const JobDescription& job);

// The kernels of a training step; nothing is known of their seconds. Error (config) names an unknown network.
std::vector<AlikeKernels> kernels_of(const JobDescription& job);

// The same with what a run's record says of them. What the plan put before a node, copies into another layout
// or type, is part of its seconds. REQUIRES: the run has kernels.
std::vector<AlikeKernels> measured_kernels(const TableRun& run);

}  // namespace trainyard::predict
