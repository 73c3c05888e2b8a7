#pragma once

#include "tensor/tensor.h"

namespace trainyard::data {

struct Dataset;

struct SyntheticOptions {
  Shape image_shape{3, 32, 32};  // C, H, W
  int classes = 10;
  std::int64_t train_images = 10'000;
  std::int64_t test_images = 2'000;
  std::uint64_t seed = 1;
};

// Smooth class templates under shared lighting, a share of another class, and pixel noise. A linear
// classifier learns it, though not in one step: it must first learn to ignore the lighting.
// A sample depends on (seed, split, index) alone, so a larger set begins with the smaller one.
Dataset make_synthetic(const SyntheticOptions& options);

}  // namespace trainyard::data
