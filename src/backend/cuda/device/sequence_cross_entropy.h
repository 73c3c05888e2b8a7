#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// Rows are steps x batch; step t of sequence n counts where t < lengths[n].
struct SequenceShape {
  std::int64_t steps, batch, classes;
};
struct SequenceLabels {
  const std::int32_t *labels, *lengths;
};

// T: float or __nv_bfloat16. `row_losses` holds a float for each row; `counter` is 0 before and after.
template <typename T>
void sequence_cross_entropy(cudaStream_t stream, const SequenceShape& shape, const T* logits,
                            const SequenceLabels& labels, float* loss, float* probabilities,
                            float* row_losses, std::uint32_t* counter);
template <typename T>
void sequence_cross_entropy_grad(cudaStream_t stream, const SequenceShape& shape, const float* d_loss,
                                 const float* probabilities, const SequenceLabels& labels, T* d_logits);

}  // namespace trainyard::backend::cuda::device
