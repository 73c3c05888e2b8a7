#pragma once

#include <bit>

#include "base/standard.h"

// Exponentials that a compiler turns into vector code: no calls, no branches. NaN stays NaN.
namespace trainyard::backend::onednn {

// Within 2 units of the last place between its bounds; beyond them, its values there: 1e-38 and 1.6e38.
inline float vector_exp(float x) {
  constexpr float kLowest = -87.3f, kHighest = 88.0f;
  x = x < kLowest ? kLowest : x;
  x = x > kHighest ? kHighest : x;
  // Adding 1.5 * 2^23 rounds to an integer, which then stands in the lowest bits.
  constexpr float kRound = 12582912.0f;
  const float shifted = x * 1.44269504088896341f + kRound;
  const float n = shifted - kRound;
  // x = n ln 2 + r, with ln 2 in two parts so that no bits of r are lost.
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  // The minimax polynomial for e^r on [-ln 2 / 2, ln 2 / 2] comes from the Cephes library.
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  return p * std::bit_cast<float>((exponent + 127) << 23);
}

inline float vector_logistic(float x) { return 1.0f / (1.0f + vector_exp(-x)); }

inline float vector_tanh(float x) {
  const float far = 1.0f - 2.0f / (1.0f + vector_exp(2.0f * x));
  // Near zero that difference loses its bits; a minimax polynomial from the Cephes library does not.
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * x + x;
  return z < 0.390625f ? near : far;
}

// The normal distribution function, by a Chebyshev fit of the complementary error function (Press et al.,
// Numerical Recipes, 6.2), whose relative error is below 1.2e-7.
inline float vector_normal(float x) {
  const float z = (x < 0 ? -x : x) * 0.70710678118654752f;
  const float t = 1.0f / (1.0f + 0.5f * z);
  float p = 0.17087277f;
  p = p * t - 0.82215223f;
  p = p * t + 1.48851587f;
  p = p * t - 1.13520398f;
  p = p * t + 0.27886807f;
  p = p * t - 0.18628806f;
  p = p * t + 0.09678418f;
  p = p * t + 0.37409196f;
  p = p * t + 1.00002368f;
  p = p * t - 1.26551223f;
  const float tail = 0.5f * t * vector_exp(p - z * z);
  return x < 0 ? tail : 1.0f - tail;
}

}  // namespace trainyard::backend::onednn
