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
  // Above 0: images with boxes, at most so many in each, of which the first are there; made when they are
  // read.
  std::int64_t boxes = 0;
};

inline constexpr std::int64_t kBoxNumbers = 5;  // of a box: class, left, top, right, bottom

// Smooth class templates under shared lighting, a share of another class, and pixel noise. A linear
// classifier learns it, though not in one step: it must first learn to ignore the lighting.
// A sample depends on (seed, split, index) alone, so a larger set begins with the smaller one.
Dataset make_synthetic(const SyntheticOptions& options);

// Rectangles before noise: a class is a colour and a stripe. make_synthetic() calls it where options ask for
// boxes.
Dataset make_synthetic_boxes(const SyntheticOptions& options);

}  // namespace trainyard::data
