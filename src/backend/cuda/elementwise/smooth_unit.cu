#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/elementwise/smooth_unit.cuh"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

template <ops::SmoothKind kKind>
struct UnitValue {
  __device__ float operator()(float x) const { return smooth<kKind>(x).value; }
};
template <ops::SmoothKind kKind>
struct UnitGradient {
  __device__ float operator()(float d, float x) const { return d * smooth<kKind>(x).slope; }
};

// Rows of src are two halves (a, b) of `width` numbers.
template <ops::SmoothKind kKind, typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gated_unit(std::int64_t vectors, std::int64_t width, const T* src, T* dst) {
  using Lane = Vector<T, kWidth>;
  for (auto v = static_cast<std::int64_t>(thread_index()); v < vectors;
       v += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t at = v * kWidth, row = at / width, from = at + row * width;
    const Lane a = *reinterpret_cast<const Lane*>(src + from),
               b = *reinterpret_cast<const Lane*>(src + from + width);
    Lane made;
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      made.at[i] = from_float<T>(smooth<kKind>(to_float(a.at[i])).value * to_float(b.at[i]));
    *reinterpret_cast<Lane*>(dst + at) = made;
  }
}

template <ops::SmoothKind kKind, typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gated_unit_grad(std::int64_t vectors, std::int64_t width, const T* d_dst, const T* src, T* d_src) {
  using Lane = Vector<T, kWidth>;
  for (auto v = static_cast<std::int64_t>(thread_index()); v < vectors;
       v += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t at = v * kWidth, row = at / width, to = at + row * width;
    const Lane d = *reinterpret_cast<const Lane*>(d_dst + at), a = *reinterpret_cast<const Lane*>(src + to),
               b = *reinterpret_cast<const Lane*>(src + to + width);
    Lane d_a, d_b;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const ValueAndSlope unit = smooth<kKind>(to_float(a.at[i]));
      d_a.at[i] = from_float<T>(to_float(d.at[i]) * to_float(b.at[i]) * unit.slope);
      d_b.at[i] = from_float<T>(to_float(d.at[i]) * unit.value);
    }
    *reinterpret_cast<Lane*>(d_src + to) = d_a;
    *reinterpret_cast<Lane*>(d_src + to + width) = d_b;
  }
}

// Calls start.operator()<kWidth>(vectors, blocks).
template <typename T, typename Start>
void with_gated_width(std::int64_t rows, std::int64_t width, const Start& start) {
  constexpr int kWide = 16 / sizeof(T);
  const std::int64_t elements = rows * width;
  if (elements == 0) return;
  if (width % kWide == 0)
    start.template operator()<kWide>(elements / kWide, grid_for(static_cast<std::size_t>(elements / kWide)));
  else
    start.template operator()<1>(elements, grid_for(static_cast<std::size_t>(elements)));
}

}  // namespace

template <typename T>
void smooth_unit(cudaStream_t stream, ops::SmoothKind kind, const T* src, T* dst, std::int64_t elements) {
  with_kind(kind,
            [&]<ops::SmoothKind kKind>() { elementwise(stream, elements, UnitValue<kKind>{}, dst, src); });
}

template <typename T>
void smooth_unit_grad(cudaStream_t stream, ops::SmoothKind kind, const T* d_dst, const T* src, T* d_src,
                      std::int64_t elements) {
  with_kind(kind, [&]<ops::SmoothKind kKind>() {
    elementwise(stream, elements, UnitGradient<kKind>{}, d_src, d_dst, src);
  });
}

template <typename T>
void gated_smooth_unit(cudaStream_t stream, ops::SmoothKind kind, std::int64_t rows, std::int64_t width,
                       const T* src, T* dst) {
  with_kind(kind, [&]<ops::SmoothKind kKind>() {
    with_gated_width<T>(rows, width, [&]<int kWidth>(std::int64_t vectors, int blocks) {
      gated_unit<kKind, T, kWidth><<<blocks, kThreads, 0, stream>>>(vectors, width, src, dst);
    });
  });
  check_launch("gated_smooth_unit");
}

template <typename T>
void gated_smooth_unit_grad(cudaStream_t stream, ops::SmoothKind kind, std::int64_t rows, std::int64_t width,
                            const T* d_dst, const T* src, T* d_src) {
  with_kind(kind, [&]<ops::SmoothKind kKind>() {
    with_gated_width<T>(rows, width, [&]<int kWidth>(std::int64_t vectors, int blocks) {
      gated_unit_grad<kKind, T, kWidth><<<blocks, kThreads, 0, stream>>>(vectors, width, d_dst, src, d_src);
    });
  });
  check_launch("gated_smooth_unit_grad");
}

template void smooth_unit(cudaStream_t, ops::SmoothKind, const float*, float*, std::int64_t);
template void smooth_unit(cudaStream_t, ops::SmoothKind, const bf16*, bf16*, std::int64_t);
template void smooth_unit_grad(cudaStream_t, ops::SmoothKind, const float*, const float*, float*,
                               std::int64_t);
template void smooth_unit_grad(cudaStream_t, ops::SmoothKind, const bf16*, const bf16*, bf16*, std::int64_t);
template void gated_smooth_unit(cudaStream_t, ops::SmoothKind, std::int64_t, std::int64_t, const float*,
                                float*);
template void gated_smooth_unit(cudaStream_t, ops::SmoothKind, std::int64_t, std::int64_t, const bf16*,
                                bf16*);
template void gated_smooth_unit_grad(cudaStream_t, ops::SmoothKind, std::int64_t, std::int64_t, const float*,
                                     const float*, float*);
template void gated_smooth_unit_grad(cudaStream_t, ops::SmoothKind, std::int64_t, std::int64_t, const bf16*,
                                     const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
