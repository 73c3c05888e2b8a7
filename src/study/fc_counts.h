#pragma once

#include <cstdint>

#include "record/value.h"

namespace trainyard::study {

// A fully connected network of ParaDnn or of its PyTorch re-make, and the batch of a step.
struct FcPoint {
  std::int64_t layers = 0, width = 0, inputs = 0, classes = 0, batch = 0;

  record::Settings settings() const;  // under the names that our own runs have
};

// What one training step of such a network really does. A study does not see networks, so that published
// points have their closed forms here.
struct FcCounts {
  double parameters = 0;      // biases included
  double flops_per_step = 0;  // of the matrix products that run: the input needs no gradient
  double bytes_per_step = 0;  // that have to move: operands of every product, activations, optimizer state
};

// `hidden` matrices width x width stand between those of the input and of the output: layers - 1 in ParaDnn,
// layers in the re-make. Elements of 4 bytes, and seven moves a parameter for RMSProp with momentum and Adam.
FcCounts count_fc(const FcPoint& point, std::int64_t hidden);

}  // namespace trainyard::study
