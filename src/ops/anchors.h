#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

// Geometry of anchors that device code reads, too: this file includes neither the graph nor fmt, which nvcc
// cannot compile.
namespace trainyard::ops {

// A rectangle in pixels of the image.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  constexpr double area() const { return std::max(right - left, 0.0) * std::max(bottom - top, 0.0); }
};

// Returns the area that both share, over the area that either covers.
constexpr double overlap(const Box& a, const Box& b) {
  const Box both{std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
                 std::min(a.bottom, b.bottom)};
  const double shared = both.area(), either = a.area() + b.area() - shared;
  return either > 0 ? shared / either : 0;
}

// Anchors are boxes of fixed sizes at every cell of some levels, whose cells are ever larger: 9 a cell, of 3
// sizes and 3 shapes (Lin et al., Focal Loss for Dense Object Detection, 2017). They are counted by level,
// row, column and shape.
struct Anchors {
  static constexpr int kMostLevels = 8;
  static constexpr std::int64_t kShapes = 9;
  static constexpr double kCells = 4;  // the side of the smallest square anchor, in cells

  struct Level {
    std::int64_t rows, columns, stride;  // of cells, in pixels

    constexpr std::int64_t count() const { return rows * columns * kShapes; }
  };

  int levels = 0;
  Level level[kMostLevels] = {};

  constexpr std::int64_t count() const {  // of an image
    std::int64_t sum = 0;
    for (int i = 0; i < levels; ++i) sum += level[i].count();
    return sum;
  }

  // REQUIRES: 0 <= anchor < count().
  constexpr Box box(std::int64_t anchor) const {
    int at = 0;
    for (; anchor >= level[at].count(); ++at) anchor -= level[at].count();
    const std::int64_t shape = anchor % kShapes, cell = anchor / kShapes;
    const auto stride = static_cast<double>(level[at].stride);
    const double scales[] = {1, 1.2599210498948732, 1.5874010519681994},  // 2^0, 2^(1/3), 2^(2/3)
        roots[] = {1.4142135623730951, 1, 0.7071067811865476};            // twice as wide, ..., high
    const double side = kCells * stride * scales[shape / 3], width = side * roots[shape % 3],
                 height = side / roots[shape % 3],
                 x = (static_cast<double>(cell % level[at].columns) + 0.5) * stride,
                 y = (static_cast<double>(cell / level[at].columns) + 0.5) * stride;
    return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
  }
};

inline constexpr std::int64_t kBoxNumbers = 5;  // of a box in a batch: class, left, top, right, bottom

// AnchorTarget is what an anchor is to say.
struct AnchorTarget {
  static constexpr std::int32_t kBackground = -1, kPassedOver = -2;

  std::int32_t label = kBackground;  // the class of its box, or one of these
  double offsets[4] = {};            // of the box: centre by the anchor's sides, logarithms of its sides
};

// An anchor is to find the box that it overlaps most, if by at least kFound; below kMissed it is background,
// and between them it is passed over. `boxes`: of one image, kBoxNumbers each; a class below 0 is no box.
inline constexpr double kFound = 0.5, kMissed = 0.4;

constexpr AnchorTarget match_anchor(const Box& anchor, const std::int32_t* boxes, std::int64_t count) {
  AnchorTarget target;
  Box found;
  double most = 0;
  for (std::int64_t i = 0; i < count; ++i, boxes += kBoxNumbers) {
    const Box box{static_cast<double>(boxes[1]), static_cast<double>(boxes[2]), static_cast<double>(boxes[3]),
                  static_cast<double>(boxes[4])};
    const double share = boxes[0] < 0 ? 0 : overlap(anchor, box);
    if (share <= most) continue;
    most = share;
    found = box;
    target.label = boxes[0];
  }
  if (most < kFound) {
    target.label = most < kMissed ? AnchorTarget::kBackground : AnchorTarget::kPassedOver;
    return target;
  }
  const double width = anchor.right - anchor.left, height = anchor.bottom - anchor.top;
  target.offsets[0] = (found.left + found.right - anchor.left - anchor.right) / (2 * width);
  target.offsets[1] = (found.top + found.bottom - anchor.top - anchor.bottom) / (2 * height);
  target.offsets[2] = std::log((found.right - found.left) / width);
  target.offsets[3] = std::log((found.bottom - found.top) / height);
  return target;
}

}  // namespace trainyard::ops
