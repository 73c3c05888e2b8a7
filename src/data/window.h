#pragma once

#include <cstdint>

namespace trainyard::data {

// A rectangle of an image plane that becomes the output plane. What lies outside the plane reads as zero.
struct Window {
  std::int64_t plane_height = 0, plane_width = 0;
  std::int64_t top = 0, left = 0;  // negative: padding
  std::int64_t height = 0, width = 0;
  bool flip = false;  // mirror left and right
};

struct WindowSums {
  std::uint64_t sum = 0, squares = 0;
};

// Integers, so exact and free of the order of summation. Padding adds nothing to either.
WindowSums sum_window(const std::uint8_t* plane, const Window& window);

// out = (pixel - centre) * scale over the window. A pixel that equals the centre gives exactly zero.
void map_window(const std::uint8_t* plane, const Window& window, float centre, float scale, float* out);

}  // namespace trainyard::data
