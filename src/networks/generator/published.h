#pragma once

#include <cstdint>

#include "networks/generator/generator.h"

namespace trainyard::networks::generator {

// Counts a fully connected network as ParaDnn's authors do, so that published columns can be reproduced.
// Biases do not count, and the first layer is charged an input gradient that no step computes.
struct PublishedCounts {
  std::int64_t parameters = 0;
  double flops = 0;  // of a step: 6 B P in training, 2 B P in inference
};

// P = (L - 1) N^2 + N (I + O). The PyTorch re-make prints this, too, although its networks have one hidden
// layer more; those of `remake_as_built` are counted as they are.
PublishedCounts published_fc(const FcSizes& sizes, std::int64_t batch, bool training);
PublishedCounts remake_as_built(const FcSizes& sizes, std::int64_t batch);

// Returns the bytes of ParaDnn's fully connected training on each of a TPU v2's eight cores: parameters with
// two tensors of optimizer state in 32 bits, activations and their gradients in 16. Networks above 8 GB did
// not run.
double tpu_v2_core_bytes(const FcSizes& sizes, std::int64_t batch);
inline constexpr double kTpuV2CoreBytes = 8e9;

}  // namespace trainyard::networks::generator
