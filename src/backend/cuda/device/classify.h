#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backend/cuda/device/dropout.h"

namespace trainyard::backend::cuda::device {

struct ClassifyShape {
  std::int64_t rows, inputs;
  int classes;  // at most kMostClasses
  static constexpr int kMostClasses = 32;
};

// ops::classify_op in one launch. T: float or __nv_bfloat16. `row_losses` holds `rows` floats; `counter` is 0
// before and after.
template <typename T>
struct Classify {
  const T *src, *weight;
  const float* bias;
  const std::int32_t* labels;
  float smoothing, mask_scale;
  Dropout dropout;  // of src, where `dropped` is not null
  T* dropped;
  T *logits, *d_logits, *d_src;
  float *loss, *probabilities, *row_losses;
  std::uint32_t* counter;
};
template <typename T>
void classify(cudaStream_t stream, const ClassifyShape& shape, const Classify<T>& at);

}  // namespace trainyard::backend::cuda::device
