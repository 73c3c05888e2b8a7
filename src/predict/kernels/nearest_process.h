#pragma once

#include "predict/kernels/kernel_shape.h"

namespace trainyard::predict {

// Rates holds the best rates of a device in one precision. Prediction starts from them, and they tell devices
// apart.
struct Rates {
  double flops_per_second = 1, bytes_per_second = 1, launch_seconds = 0;
  // Columns, inner length and tiles of a product at which it is half as fast.
  double half_columns = 0, half_inner = 0, half_tiles = 0;

  double seconds(const KernelShape& shape) const;
  friend bool operator==(const Rates&, const Rates&) = default;
};
// Returns the square of the distance between two devices, in the units of places.
double square_between(const Rates& a, const Rates& b);

// PlacedSample is a number that was measured at a place, on a device.
struct PlacedSample {
  ShapePlace place{};
  Rates rates;
  int group = 0;  // samples of one group are left out together
  double value = 0;
};

// NearSample is one of the nearest samples to a place; lists have the nearest first.
struct NearSample {
  double square = 0;  // of the distance
  std::size_t sample = 0;
};
inline constexpr int kNobody = -1;
std::vector<NearSample> nearest(const std::vector<PlacedSample>& samples, const ShapePlace& place,
                                const Rates& rates, int without);

double likeness(double square);  // 1: the same, 0: nothing in common

// PlacedEstimate is a Gaussian process over place and device, from the samples near `place`, with a mean and
// slopes that are not known beforehand. REQUIRES: at least one.
struct PlacedEstimate {
  double value = 0;
  double known = 0;  // 0: nothing alike was seen, 1: the same
};
PlacedEstimate estimate(const std::vector<PlacedSample>& samples, const std::vector<NearSample>& near,
                        const ShapePlace& place);

}  // namespace trainyard::predict
