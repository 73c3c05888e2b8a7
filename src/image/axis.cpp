#include "image/axis.h"

#include <algorithm>
#include <cmath>

namespace trainyard::image {
namespace {

double keys_kernel(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}

// The first place that output centre c reads, of a method's `taps`.
std::int64_t first_place(ResizeMethod method, double centre, double step) {
  switch (method) {
    case ResizeMethod::nearest:
      return static_cast<std::int64_t>(std::floor(centre));
    case ResizeMethod::bilinear:
      return static_cast<std::int64_t>(std::floor(centre - 0.5));
    case ResizeMethod::bicubic:
      return static_cast<std::int64_t>(std::floor(centre - 0.5)) - 1;
    case ResizeMethod::area:
      return static_cast<std::int64_t>(std::floor(centre - step / 2));
  }
  return 0;
}

double weight(ResizeMethod method, double centre, double step, std::int64_t place) {
  const auto left = static_cast<double>(place);
  switch (method) {
    case ResizeMethod::nearest:
      return 1;
    case ResizeMethod::bilinear:
      return std::max(0.0, 1 - std::abs(left + 0.5 - centre));
    case ResizeMethod::bicubic:
      return keys_kernel(left + 0.5 - centre);
    case ResizeMethod::area:
      return std::max(0.0, std::min(left + 1, centre + step / 2) - std::max(left, centre - step / 2)) / step;
  }
  return 0;
}

std::int64_t taps_of(ResizeMethod method, double step) {
  switch (method) {
    case ResizeMethod::nearest:
      return 1;
    case ResizeMethod::bilinear:
      return 2;
    case ResizeMethod::bicubic:
      return 4;
    case ResizeMethod::area:
      return static_cast<std::int64_t>(std::ceil(step)) + 1;
  }
  return 1;
}

}  // namespace

void plan_axis(ResizeMethod method, double begin, double length, std::int64_t size, std::int64_t outputs,
               bool flip, Axis& axis) {
  axis.begin = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(begin)), 0, size - 1);
  axis.end =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(begin + length)), axis.begin + 1, size);
  const double step = length / static_cast<double>(outputs);
  const std::int64_t wanted = taps_of(method, step);
  axis.taps = std::min(wanted, axis.end - axis.begin);
  axis.first.resize(static_cast<std::size_t>(outputs));
  axis.weights.assign(static_cast<std::size_t>(outputs * axis.taps), 0.0f);
  for (std::int64_t i = 0; i < outputs; ++i) {
    const double centre = begin + (static_cast<double>(i) + 0.5) * step;
    const std::int64_t from = first_place(method, centre, step), to = flip ? outputs - 1 - i : i;
    const std::int64_t first = std::clamp(from, axis.begin, axis.end - axis.taps);
    axis.first[static_cast<std::size_t>(to)] = first;
    // What lies beyond the box counts for the place at its edge.
    for (std::int64_t place = from; place < from + wanted; ++place) {
      const std::int64_t inside = std::clamp(place, first, first + axis.taps - 1);
      axis.weights[static_cast<std::size_t>(to * axis.taps + inside - first)] +=
          static_cast<float>(weight(method, centre, step, place));
    }
  }
}

}  // namespace trainyard::image
