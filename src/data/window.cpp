#include "data/window.h"

#include <algorithm>

namespace trainyard::data {
namespace {

// The part of the window that lies on the plane, in window coordinates.
struct Overlap {
  std::int64_t top, bottom, left, right;
  explicit Overlap(const Window& w)
      : top(std::clamp<std::int64_t>(-w.top, 0, w.height)),
        bottom(std::clamp(w.plane_height - w.top, top, w.height)),
        left(std::clamp<std::int64_t>(-w.left, 0, w.width)),
        right(std::clamp(w.plane_width - w.left, left, w.width)) {}
};

// 32 bits hold 66,000 squares of a byte: rows are far shorter, and narrow sums vectorise.
WindowSums sum_row(const std::uint8_t* row, std::int64_t count) {
  std::uint32_t sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t pixel = row[i];
    sum += pixel;
    squares += pixel * pixel;
  }
  return {sum, squares};
}

void map_row(const std::uint8_t* row, std::int64_t count, float centre, float scale, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = (static_cast<float>(row[i]) - centre) * scale;
}

void map_row_flipped(const std::uint8_t* row, std::int64_t count, float centre, float scale, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = (static_cast<float>(row[count - 1 - i]) - centre) * scale;
}

}  // namespace

WindowSums sum_window(const std::uint8_t* plane, const Window& w) {
  const Overlap part(w);
  WindowSums total;
  for (std::int64_t y = part.top; y < part.bottom; ++y) {
    const WindowSums row =
        sum_row(plane + (w.top + y) * w.plane_width + w.left + part.left, part.right - part.left);
    total.sum += row.sum;
    total.squares += row.squares;
  }
  return total;
}

void map_window(const std::uint8_t* plane, const Window& w, float centre, float scale, float* out) {
  const Overlap part(w);
  const std::int64_t count = part.right - part.left;
  const std::int64_t before = w.flip ? w.width - part.right : part.left, after = w.width - before - count;
  const float zero = (0.0f - centre) * scale;
  out = std::fill_n(out, part.top * w.width, zero);
  for (std::int64_t y = part.top; y < part.bottom; ++y) {
    const std::uint8_t* row = plane + (w.top + y) * w.plane_width + w.left + part.left;
    out = std::fill_n(out, before, zero);
    if (w.flip)
      map_row_flipped(row, count, centre, scale, out);
    else
      map_row(row, count, centre, scale, out);
    out = std::fill_n(out + count, after, zero);
  }
  std::fill_n(out, (w.height - part.bottom) * w.width, zero);
}

}  // namespace trainyard::data
