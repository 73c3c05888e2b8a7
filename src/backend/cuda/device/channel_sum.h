#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace trainyard::backend::cuda::device {

// sums[c] = sum over rows of src[row, c], in f32 and in an order that depends only on the sizes.
// T: float or __nv_bfloat16.
template <typename T>
void channel_sum(cudaStream_t stream, const T* src, float* sums, std::int64_t rows, std::int64_t channels);

}  // namespace trainyard::backend::cuda::device
