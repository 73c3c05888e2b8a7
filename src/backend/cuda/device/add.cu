#include "backend/cuda/device/add.h"

#include "backend/cuda/device/activation.cuh"
#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

// kCount: how many terms, so that their loads are in flight together; 0: as the terms say.
template <typename T, int kWidth, int kCount>
__device__ inline void add_at(const Terms<T>& terms, Activation activation, T* dst, std::int64_t at) {
  using Lane = Vector<T, kWidth>;
  const auto load = [&](const T* from) { return *reinterpret_cast<const Lane*>(from + at); };
  float sums[kWidth] = {};
  const int count = kCount > 0 ? kCount : terms.count;
#pragma unroll
  for (int term = 0; term < count; ++term) {
    const Lane loaded = load(terms.at[term]);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sums[i] += to_float(loaded.at[i]);
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sums[i] = activate(activation, sums[i]);
  if (terms.mask != nullptr) {
    const Lane mask = load(terms.mask);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sums[i] = to_float(mask.at[i]) > 0 ? sums[i] : 0.0f;
  }
  Lane made;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) made.at[i] = from_float<T>(sums[i]);
  *reinterpret_cast<Lane*>(dst + at) = made;
}

template <typename T, int kCount>
__global__ void __launch_bounds__(kThreads)
    add_terms(const __grid_constant__ Terms<T> terms, Activation activation, T* dst, std::int64_t elements) {
  constexpr int kWidth = 16 / sizeof(T);
  const std::int64_t vectors = elements / kWidth;
  const auto first = static_cast<std::int64_t>(thread_index()),
             stride = static_cast<std::int64_t>(thread_count());
  for (std::int64_t v = first; v < vectors; v += stride)
    add_at<T, kWidth, kCount>(terms, activation, dst, v * kWidth);
  for (std::int64_t i = vectors * kWidth + first; i < elements; i += stride)
    add_at<T, 1, kCount>(terms, activation, dst, i);
}

}  // namespace

template <typename T>
void add(cudaStream_t stream, const Terms<T>& terms, Activation activation, T* dst, std::int64_t elements) {
  const auto start = [&](auto kernel) {
    kernel<<<grid_for(static_cast<std::size_t>(elements) * sizeof(T) / 16 + 1), kThreads, 0, stream>>>(
        terms, activation, dst, elements);
  };
  if (terms.count == 1) start(add_terms<T, 1>);
  if (terms.count == 2) start(add_terms<T, 2>);
  if (terms.count == 3) start(add_terms<T, 3>);
  if (terms.count > 3) start(add_terms<T, 0>);
  check_launch("add");
}

template void add(cudaStream_t, const Terms<float>&, Activation, float*, std::int64_t);
template void add(cudaStream_t, const Terms<bf16>&, Activation, bf16*, std::int64_t);

}  // namespace trainyard::backend::cuda::device
