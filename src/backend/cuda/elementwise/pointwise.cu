#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/elementwise/elementwise_kernels.h"

namespace trainyard::backend::cuda::device {

namespace {

template <ops::PointwiseKind kKind>
struct PointwiseForward {
  float a, b;
  __device__ float operator()(float x) const { return ops::pointwise_at<kKind>(x, a, b).value; }
};
template <ops::PointwiseKind kKind>
struct PointwiseGradient {
  float a, b;
  __device__ float operator()(float d, float x) const { return d * ops::pointwise_at<kKind>(x, a, b).slope; }
};

}  // namespace

template <typename T>
void pointwise(cudaStream_t stream, const ops::PointwiseAttrs& attrs, const T* src, T* dst,
               std::int64_t elements) {
  ops::with_pointwise_kind(attrs.kind, [&]<ops::PointwiseKind kKind>() {
    const PointwiseForward<kKind> body{static_cast<float>(attrs.a), static_cast<float>(attrs.b)};
    elementwise(stream, elements, body, dst, src);
  });
}

template <typename T>
void pointwise_grad(cudaStream_t stream, const ops::PointwiseAttrs& attrs, const T* d_dst, const T* src,
                    T* d_src, std::int64_t elements) {
  ops::with_pointwise_kind(attrs.kind, [&]<ops::PointwiseKind kKind>() {
    const PointwiseGradient<kKind> body{static_cast<float>(attrs.a), static_cast<float>(attrs.b)};
    elementwise(stream, elements, body, d_src, d_dst, src);
  });
}

template void pointwise(cudaStream_t, const ops::PointwiseAttrs&, const float*, float*, std::int64_t);
template void pointwise(cudaStream_t, const ops::PointwiseAttrs&, const bf16*, bf16*, std::int64_t);
template void pointwise_grad(cudaStream_t, const ops::PointwiseAttrs&, const float*, const float*, float*,
                             std::int64_t);
template void pointwise_grad(cudaStream_t, const ops::PointwiseAttrs&, const bf16*, const bf16*, bf16*,
                             std::int64_t);

}  // namespace trainyard::backend::cuda::device
