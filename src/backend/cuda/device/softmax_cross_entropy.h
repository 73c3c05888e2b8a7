#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

struct CrossEntropyLabels {
  const std::int32_t* integers;  // one a row; null: soft ones
  const float* soft;             // rows x classes
  float smoothing;
};

struct CrossEntropyShape {
  std::int64_t rows, classes;
};

// T: float or __nv_bfloat16. `row_losses` holds `rows` floats; `counter` is 0 before and after. d_logits, for
// d_loss = 1, may be null.
template <typename T>
void softmax_cross_entropy(cudaStream_t stream, CrossEntropyShape shape, const T* logits,
                           const CrossEntropyLabels& labels, float* loss, float* probabilities, T* d_logits,
                           float* row_losses, std::uint32_t* counter);
template <typename T>
void softmax_cross_entropy_grad(cudaStream_t stream, CrossEntropyShape shape, const float* d_loss,
                                const float* probabilities, const CrossEntropyLabels& labels, T* d_logits);

}  // namespace trainyard::backend::cuda::device
