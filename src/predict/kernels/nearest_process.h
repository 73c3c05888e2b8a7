#pragma once

#include <vector>

#include "predict/kernels/kernel_shape.h"

namespace trainyard::predict {

// What a device does at best, in one precision: where prediction begins, and what tells devices apart.
struct Rates {
  double flops_per_second = 1, bytes_per_second = 1, launch_seconds = 0;
  // Columns, inner length and tiles of a product at which it is half as fast.
  double half_columns = 0, half_inner = 0, half_tiles = 0;

  double seconds(const KernelShape& shape) const;
  friend bool operator==(const Rates&, const Rates&) = default;
};
// Of places, as the square of a distance.
double square_between(const Rates& a, const Rates& b);

// A number that was seen at a place, on a device.
struct PlacedSample {
  ShapePlace place{};
  Rates rates;
  int group = 0;  // samples of one group are left out together
  double value = 0;
};

// The nearest samples to a place, the nearest first.
struct NearSample {
  double square = 0;  // of the distance
  std::size_t sample = 0;
};
inline constexpr int kNobody = -1;
std::vector<NearSample> nearest(const std::vector<PlacedSample>& samples, const ShapePlace& place,
                                const Rates& rates, int without);

double likeness(double square);  // 1: the same, 0: nothing in common

// A Gaussian process over place and device, by the samples near `place`, with a mean and slopes that are not
// known beforehand. REQUIRES: at least one.
struct PlacedEstimate {
  double value = 0;
  double known = 0;  // 0: nothing alike was seen, 1: the same
};
PlacedEstimate estimate(const std::vector<PlacedSample>& samples, const std::vector<NearSample>& near,
                        const ShapePlace& place);

}  // namespace trainyard::predict
