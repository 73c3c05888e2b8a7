#include "backend/cuda/device/activation.cuh"

#include "backend/cuda/device/elementwise.cuh"

namespace trainyard::backend::cuda::device {

template <typename T>
void activation(cudaStream_t stream, Activation activation, const T* src, T* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__(float x) { return activate(activation, x); }, dst, src);
}

template <typename T>
void activation_grad(cudaStream_t stream, Activation activation, const T* d_dst, const T* dst, T* d_src,
                     std::int64_t elements) {
  elementwise(
      stream, elements,
      [=] __device__(float g, float y) {
        return g * activation_slope(activation, y) * activation.gradient_scale;
      },
      d_src, d_dst, dst);
}

template void activation(cudaStream_t, Activation, const float*, float*, std::int64_t);
template void activation(cudaStream_t, Activation, const bf16*, bf16*, std::int64_t);
template void activation_grad(cudaStream_t, Activation, const float*, const float*, float*, std::int64_t);
template void activation_grad(cudaStream_t, Activation, const bf16*, const bf16*, bf16*, std::int64_t);

}  // namespace trainyard::backend::cuda::device
