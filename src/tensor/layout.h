#pragma once

#include "tensor/tensor.h"

namespace trainyard {

// A layout says how the elements of a tensor lie in memory: an order of axes, some of them cut into inner
// blocks. The notation is oneDNN's: "abcd" is plain, "acdb" channels last, "aBcd16b" has the channel axis in
// blocks of 16, which are innermost. A blocked axis is padded up to its block, and the padding holds zeros.
class Layout {
 public:
  struct Block {
    int axis;
    std::int64_t size;
    friend bool operator==(const Block&, const Block&) = default;
  };

  Layout() = default;  // plain, of any rank
  Layout(std::vector<int> order, std::vector<Block> blocks);

  static Layout plain(int rank);
  static Layout channels_last(int rank);
  // REQUIRES: a name that to_string() wrote.
  static Layout parse(std::string_view name);

  bool is_plain() const;
  const std::vector<int>& order() const { return order_; }
  const std::vector<Block>& blocks() const { return blocks_; }

  // Returns the product of the inner blocks of one axis; 1 when it is not blocked.
  std::int64_t block_of(int axis) const;
  Shape padded(const Shape& shape) const;
  bool pads(const Shape& shape) const { return !(padded(shape) == shape); }
  std::int64_t elements(const Shape& shape) const { return padded(shape).elements(); }
  std::string to_string() const;

  friend bool operator==(const Layout& a, const Layout& b);

  // Returns true when both put every element of this shape at the same place; the names may differ, because
  // the position of an axis of length 1 does not matter.
  static bool same_placement(const Layout& a, const Layout& b, const Shape& shape);

 private:
  std::vector<int> order_;  // outermost first; empty stands for plain
  std::vector<Block> blocks_;
};

// Offsets of one tensor's elements; built once, then asked for many.
class LayoutIndex {
 public:
  LayoutIndex(const Layout& layout, const Shape& shape);

  // Returns the physical offset, in elements, of a logical row-major index.
  std::int64_t offset_of(std::int64_t logical) const;
  std::int64_t offset_of(const std::int64_t* coordinates) const;
  std::int64_t outer_stride(int axis) const { return outer_stride_[static_cast<std::size_t>(axis)]; }

 private:
  struct InnerBlock {
    int axis;
    std::int64_t size, stride;
  };
  Shape shape_;
  bool plain_;
  std::array<std::int64_t, Shape::kMaxRank> outer_stride_{}, axis_block_{};
  std::vector<InnerBlock> inner_;  // innermost first
};

}  // namespace trainyard
