#include "backend/cuda/device/bias_activation.h"

#include "backend/cuda/device/activation.cuh"
#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

// `width`: vectors in a row.
template <typename T, int kWidth>
__global__ void add_and_activate(Activation activation, const float* __restrict__ bias, Vector<T, kWidth>* y,
                                 std::int64_t vectors, std::int64_t width) {
  const auto first = static_cast<std::int64_t>(thread_index()),
             stride = static_cast<std::int64_t>(thread_count());
  const std::int64_t shift = stride % width;
  std::int64_t column = first % width;
  for (std::int64_t v = first; v < vectors; v += stride) {
    Vector<T, kWidth> x = y[v];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float added = bias == nullptr ? 0.0f : bias[column * kWidth + i];
      x.at[i] = from_float<T>(activate(activation, to_float(x.at[i]) + added));
    }
    y[v] = x;
    column += shift;
    if (column >= width) column -= width;
  }
}

template <typename T, int kWidth>
void start(cudaStream_t stream, Activation activation, const float* bias, T* y, std::int64_t rows,
           std::int64_t channels) {
  const std::int64_t width = channels / kWidth, vectors = rows * width;
  add_and_activate<T, kWidth><<<grid_for(static_cast<std::size_t>(vectors)), kThreads, 0, stream>>>(
      activation, bias, reinterpret_cast<Vector<T, kWidth>*>(y), vectors, width);
}

}  // namespace

template <typename T>
void bias_activation(cudaStream_t stream, Activation activation, const float* bias, T* y, std::int64_t rows,
                     std::int64_t channels) {
  if (rows * channels == 0) return;
  constexpr int kWidth = 16 / sizeof(T);
  if (channels % kWidth == 0)
    start<T, kWidth>(stream, activation, bias, y, rows, channels);
  else if (channels % 2 == 0)
    start<T, 2>(stream, activation, bias, y, rows, channels);
  else
    start<T, 1>(stream, activation, bias, y, rows, channels);
  check_launch("bias_activation");
}

template void bias_activation(cudaStream_t, Activation, const float*, float*, std::int64_t, std::int64_t);
template void bias_activation(cudaStream_t, Activation, const float*, bf16*, std::int64_t, std::int64_t);

}  // namespace trainyard::backend::cuda::device
