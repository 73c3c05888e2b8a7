#include "image/random_box.h"

#include <cmath>

namespace trainyard::image {

Box random_box(std::int64_t width, std::int64_t height, Draws& draws) {
  constexpr int kTries = 100;
  constexpr double kLeastArea = 0.05, kLeastCovered = 0.1, kLeastAspect = 3.0 / 4, kMostAspect = 4.0 / 3;
  const auto pixels = static_cast<double>(width * height);
  for (int i = 0; i < kTries; ++i) {
    const double area = draws.between(kLeastArea, 1) * pixels;
    const double aspect = draws.between(kLeastAspect, kMostAspect);
    const std::int64_t w = std::llround(std::sqrt(area * aspect)), h = std::llround(std::sqrt(area / aspect));
    if (w < 1 || h < 1 || w > width || h > height || static_cast<double>(w * h) < kLeastCovered * pixels)
      continue;
    const std::int64_t left = draws.below(width - w + 1), top = draws.below(height - h + 1);
    return {static_cast<double>(left), static_cast<double>(top), static_cast<double>(w),
            static_cast<double>(h)};
  }
  return {0, 0, static_cast<double>(width), static_cast<double>(height)};
}

}  // namespace trainyard::image
