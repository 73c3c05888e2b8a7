#pragma once

#include "backend/cuda/device/update.h"

namespace trainyard::backend::cuda::device {

struct DenseUpdate {
  static constexpr int kMostSamples = 64;

  int samples, outputs, inputs;
  UpdateTensor weight, bias;  // their `gradient` is not used
};

// ops::dense_update_op: d_dst (samples, outputs), src (samples, inputs), in tf32 or bf16. Rows of both are
// multiples of 16 bytes. `scheduled` and most_blocks as in update().
template <typename T>
void dense_update(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
                  const float* scheduled, const DenseUpdate& layer, const T* d_dst, const T* src,
                  int most_blocks);

// The same for any size, by simple loops in f32.
template <typename T>
void dense_update_plain(cudaStream_t stream, const ops::UpdateAttrs& attrs, const StepContext* context,
                        const float* scheduled, const DenseUpdate& layer, const T* d_dst, const T* src);

}  // namespace trainyard::backend::cuda::device
