#include "backend/cuda/device/scale.h"

#include "backend/cuda/device/elementwise.cuh"

namespace trainyard::backend::cuda::device {

template <typename T>
void scale(cudaStream_t stream, float factor, const T* src, T* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__(float x) { return factor * x; }, dst, src);
}

template <typename T>
void multiply(cudaStream_t stream, const T* a, const T* b, T* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__(float x, float y) { return x * y; }, dst, a, b);
}

template <typename T>
void fill(cudaStream_t stream, float value, T* dst, std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__() { return value; }, dst);
}

template <typename T>
void scale_by(cudaStream_t stream, float factor, const T* scalar, const T* src, T* dst,
              std::int64_t elements) {
  elementwise(
      stream, elements, [=] __device__(float x) { return factor * to_float(*scalar) * x; }, dst, src);
}

template void scale(cudaStream_t, float, const float*, float*, std::int64_t);
template void scale(cudaStream_t, float, const bf16*, bf16*, std::int64_t);
template void multiply(cudaStream_t, const float*, const float*, float*, std::int64_t);
template void multiply(cudaStream_t, const bf16*, const bf16*, bf16*, std::int64_t);
template void fill(cudaStream_t, float, float*, std::int64_t);
template void fill(cudaStream_t, float, bf16*, std::int64_t);
template void scale_by(cudaStream_t, float, const float*, const float*, float*, std::int64_t);
template void scale_by(cudaStream_t, float, const bf16*, const bf16*, bf16*, std::int64_t);

}  // namespace trainyard::backend::cuda::device
