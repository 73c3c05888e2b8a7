#pragma once

#include <cmath>
#include <cstdint>

// Locates a pixel of a resized image between two pixels of the source, on hosts and devices. Device code
// reads this file: it includes neither the graph nor fmt, which nvcc cannot compile.
namespace trainyard::ops {

// ResizePlaces says which place of the source belongs to x, a place in dst. The names are ONNX's.
enum class ResizePlaces : std::uint8_t {
  half_pixel,     // (x + 1/2) from / to - 1/2: pixels are squares
  align_corners,  // x (from - 1) / (to - 1): the outermost pixels lie on each other
  asymmetric,     // x from / to
};

struct ResizeAxis {
  std::int64_t from, to;
  ResizePlaces places;
};

// The pixel of dst is (1 - share) of pixel `first` and `share` of pixel `second` of the source.
struct ResizeTap {
  std::int64_t first, second;
  float share;
};

constexpr ResizeTap resize_tap(const ResizeAxis& axis, std::int64_t pixel) {
  const auto x = static_cast<float>(pixel);
  const float scale =
      axis.places == ResizePlaces::align_corners
          ? (axis.to > 1 ? static_cast<float>(axis.from - 1) / static_cast<float>(axis.to - 1) : 0.0f)
          : static_cast<float>(axis.from) / static_cast<float>(axis.to);
  float place = axis.places == ResizePlaces::half_pixel ? scale * (x + 0.5f) - 0.5f : scale * x;
  if (place < 0) place = 0;
  auto first = static_cast<std::int64_t>(place);
  if (first > axis.from - 1) first = axis.from - 1;
  const std::int64_t second = first + 1 < axis.from ? first + 1 : first;
  return {first, second, second == first ? 0.0f : place - static_cast<float>(first)};
}

constexpr float resize_weight(const ResizeTap& tap, std::int64_t pixel) {
  return (tap.first == pixel ? 1 - tap.share : 0.0f) + (tap.second == pixel ? tap.share : 0.0f);
}

// Pixels of dst from `begin` to before `end` may take something of a pixel of the source.
struct ResizeReach {
  std::int64_t begin, end;
};

// Neighbours in the source are from to / from to to / (from - 1) pixels of dst apart, as the kind of places
// is; beyond its last pixel all of dst takes that one.
constexpr ResizeReach resize_reach(const ResizeAxis& axis, std::int64_t pixel) {
  const std::int64_t apart = axis.from > 1 ? axis.from - 1 : 1;
  std::int64_t begin = (pixel - 2) * axis.to / axis.from - 2, end = (pixel + 2) * axis.to / apart + 3;
  if (begin < 0) begin = 0;
  if (end > axis.to || pixel == axis.from - 1) end = axis.to;
  return {begin, end};
}

}  // namespace trainyard::ops
