#pragma once

#include "backend/cuda/runtime/launch.cuh"
#include "ops/device_attrs.h"

namespace trainyard::backend::cuda::device {

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

template <typename Start>
void with_kind(ops::SmoothKind kind, const Start& start) {
  using ops::SmoothKind;
  if (kind == SmoothKind::gelu) start.template operator()<SmoothKind::gelu>();
  if (kind == SmoothKind::gelu_tanh) start.template operator()<SmoothKind::gelu_tanh>();
  if (kind == SmoothKind::silu) start.template operator()<SmoothKind::silu>();
}

}  // namespace trainyard::backend::cuda::device
