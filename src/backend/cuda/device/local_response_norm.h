#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace trainyard::backend::cuda::device {

// Pixels of neighbouring channels; what ops::LocalResponseNormAttrs say.
struct ResponseNorm {
  std::int64_t pixels;
  int channels, radius;
  float k, alpha, beta;
};

// Pixels with more channels do not fit into shared memory.
inline constexpr int kMaxResponseNormChannels = 6144;

// T: float or __nv_bfloat16. dst may be src; d_src may be d_dst or src.
template <typename T>
void local_response_norm(cudaStream_t stream, const ResponseNorm& norm, const T* src, T* dst);
template <typename T>
void local_response_norm_grad(cudaStream_t stream, const ResponseNorm& norm, const T* d_dst, const T* src,
                              T* d_src);

}  // namespace trainyard::backend::cuda::device
