#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

struct ValueAndSlope {
  float value, slope;
};

// These formulas cost as much as the memory they work on, so they take the GPU's own functions, which are
// exact to some units in the last place.
__device__ inline float logistic(float x) { return __fdividef(1.0f, 1 + __expf(-x)); }

// Returns the normal distribution function, exact to 1e-7, where `power` is exp(-x^2 / 2) (Abramowitz and
// Stegun 7.1.26).
__device__ inline float normal_share(float x, float power) {
  const float t = __fdividef(1.0f, 1 + 0.3275911f * 0.707106781f * fabsf(x));
  const float polynomial =
      t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float tail = 0.5f * polynomial * power;
  return x < 0 ? tail : 1 - tail;
}

// Every kind is x times a share between 0 and 1; the slope follows from the share and its own slope.
template <ops::SmoothKind kKind>
__device__ inline ValueAndSlope smooth(float x) {
  float share, share_slope;
  if constexpr (kKind == ops::SmoothKind::gelu) {
    constexpr float kDensityAtZero = 0.398942280f;  // 1 / sqrt(2 pi)
    const float power = __expf(-0.5f * x * x);
    share = normal_share(x, power);
    share_slope = kDensityAtZero * power;
  } else if constexpr (kKind == ops::SmoothKind::gelu_tanh) {
    // 0.5 (1 + tanh(u)) is the logistic function of 2 u.
    constexpr float kRoot = 0.797884561f, kCubic = 0.044715f;  // sqrt(2 / pi)
    share = logistic(2 * kRoot * (x + kCubic * x * x * x));
    share_slope = 2 * share * (1 - share) * kRoot * (1 + 3 * kCubic * x * x);
  } else {
    share = logistic(x);
    share_slope = share * (1 - share);
  }
  return {x * share, share + x * share_slope};
}

template <ops::SmoothKind kKind>
struct UnitValue {
  __device__ float operator()(float x) const { return smooth<kKind>(x).value; }
};
template <ops::SmoothKind kKind>
struct UnitGradient {
  __device__ float operator()(float d, float x) const { return d * smooth<kKind>(x).slope; }
};

template <typename Start>
void with_kind(ops::SmoothKind kind, const Start& start) {
  using ops::SmoothKind;
  if (kind == SmoothKind::gelu) start.template operator()<SmoothKind::gelu>();
  if (kind == SmoothKind::gelu_tanh) start.template operator()<SmoothKind::gelu_tanh>();
  if (kind == SmoothKind::silu) start.template operator()<SmoothKind::silu>();
}

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
