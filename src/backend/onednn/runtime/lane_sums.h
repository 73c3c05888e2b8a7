#pragma once

#include "base/standard.h"

// Sums over a row in a fixed number of lanes, so that no result depends on the width of the machine's
// vectors.
namespace trainyard::backend::onednn {

inline constexpr std::int64_t kLanes = 16;

// Adds term(k) of k = 0, 1, ... count - 1, number k to lane k % kLanes. The compiler makes vector code of a
// term that captures by value.
template <typename Term>
std::array<float, kLanes> lane_sums(std::int64_t count, const Term& term) {
  const std::int64_t whole = count / kLanes * kLanes;
  float lanes[kLanes] = {};
  for (std::int64_t k = 0; k < whole; k += kLanes)
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(k + lane);
  for (std::int64_t k = whole; k < count; ++k) lanes[k - whole] += term(k);
  return std::to_array(lanes);
}

// Returns `count` rounded up to whole lanes.
constexpr std::int64_t whole_lanes(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// Joins the lanes in pairs: a chain of operations would wait for each of them.
template <std::int64_t kHalf = kLanes / 2, typename Join>
float joined_lanes(const float* lanes, const Join& join) {
  float halves[kHalf];
#pragma omp simd
  for (std::int64_t lane = 0; lane < kHalf; ++lane) halves[lane] = join(lanes[lane], lanes[lane + kHalf]);
  if constexpr (kHalf == 1)
    return halves[0];
  else
    return joined_lanes<kHalf / 2>(halves, join);
}

template <typename Term>
float sum_in_lanes(std::int64_t count, const Term& term) {
  return joined_lanes(lane_sums(count, term).data(), [](float a, float b) { return a + b; });
}

inline float dot(const float* a, const float* b, std::int64_t count) {
  return sum_in_lanes(count, [=](std::int64_t k) { return a[k] * b[k]; });
}

// REQUIRES: count > 0.
inline float highest_of(const float* x, std::int64_t count) {
  const std::int64_t whole = count / kLanes * kLanes;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, x[0]);
  for (std::int64_t k = 0; k < whole; k += kLanes)
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = x[k + lane] > lanes[lane] ? x[k + lane] : lanes[lane];
  for (std::int64_t k = whole; k < count; ++k) lanes[k - whole] = std::max(lanes[k - whole], x[k]);
  return joined_lanes(lanes, [](float a, float b) { return a > b ? a : b; });
}

}  // namespace trainyard::backend::onednn
