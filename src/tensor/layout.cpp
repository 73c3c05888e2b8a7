#include "tensor/layout.h"

#include <cctype>

namespace trainyard {

Layout::Layout(std::vector<int> order, std::vector<Block> blocks)
    : order_(std::move(order)), blocks_(std::move(blocks)) {
  std::erase_if(blocks_, [](const Block& block) { return block.size == 1; });
  if (blocks_.empty() && std::is_sorted(order_.begin(), order_.end())) order_.clear();
}

Layout Layout::plain(int) { return {}; }

Layout Layout::channels_last(int rank) {
  std::vector<int> order{0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  if (rank > 1) order.push_back(1);
  return {order, {}};
}

Layout Layout::parse(std::string_view name) {
  if (name == "plain") return {};
  std::vector<int> order;
  std::vector<Block> blocks;
  std::size_t i = 0;
  for (; i < name.size() && std::isalpha(static_cast<unsigned char>(name[i])) != 0; ++i)
    order.push_back(std::tolower(name[i]) - 'a');
  while (i < name.size()) {
    std::int64_t size = 0;
    for (; i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])) != 0; ++i)
      size = size * 10 + (name[i] - '0');
    TRAINYARD_CHECK(i < name.size() && size > 0);
    blocks.push_back({name[i++] - 'a', size});
  }
  return {order, blocks};
}

bool Layout::is_plain() const { return order_.empty(); }

std::int64_t Layout::block_of(int axis) const {
  std::int64_t product = 1;
  for (const Block& block : blocks_)
    if (block.axis == axis) product *= block.size;
  return product;
}

Shape Layout::padded(const Shape& shape) const {
  Shape result = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t block = block_of(axis);
    result[axis] = (shape[axis] + block - 1) / block * block;
  }
  return result;
}

std::string Layout::to_string() const {
  if (is_plain()) return "plain";
  std::string text;
  for (const int axis : order_) {
    const char letter = static_cast<char>('a' + axis);
    text += block_of(axis) > 1 ? static_cast<char>(std::toupper(letter)) : letter;
  }
  for (const Block& block : blocks_)
    text += fmt::format("{}{}", block.size, static_cast<char>('a' + block.axis));
  return text;
}

bool operator==(const Layout& a, const Layout& b) { return a.order_ == b.order_ && a.blocks_ == b.blocks_; }

bool Layout::same_placement(const Layout& a, const Layout& b, const Shape& shape) {
  if (a == b) return true;
  if (a.blocks_ != b.blocks_) return false;
  const LayoutIndex index_a(a, shape), index_b(b, shape);
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] > a.block_of(axis) && index_a.outer_stride(axis) != index_b.outer_stride(axis))
      return false;
  return true;
}

LayoutIndex::LayoutIndex(const Layout& layout, const Shape& shape)
    : shape_(shape), plain_(layout.is_plain()) {
  std::vector<int> order = layout.order();
  if (order.empty()) {
    order.resize(static_cast<std::size_t>(shape.rank()));
    std::iota(order.begin(), order.end(), 0);
  }
  TRAINYARD_CHECK(static_cast<int>(order.size()) == shape.rank());
  std::int64_t stride = 1;
  const auto& blocks = layout.blocks();
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    inner_.push_back({block->axis, block->size, stride});
    stride *= block->size;
  }
  const Shape padded = layout.padded(shape);
  for (int axis = 0; axis < shape.rank(); ++axis)
    axis_block_[static_cast<std::size_t>(axis)] = layout.block_of(axis);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    outer_stride_[static_cast<std::size_t>(*axis)] = stride;
    stride *= padded[*axis] / axis_block_[static_cast<std::size_t>(*axis)];
  }
}

std::int64_t LayoutIndex::offset_of(const std::int64_t* coordinates) const {
  std::array<std::int64_t, Shape::kMaxRank> rest;
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(shape_.rank()); ++axis) {
    offset += coordinates[axis] / axis_block_[axis] * outer_stride_[axis];
    rest[axis] = coordinates[axis] % axis_block_[axis];
  }
  for (const InnerBlock& block : inner_) {
    auto& remaining = rest[static_cast<std::size_t>(block.axis)];
    offset += remaining % block.size * block.stride;
    remaining /= block.size;
  }
  return offset;
}

std::int64_t LayoutIndex::offset_of(std::int64_t logical) const {
  if (plain_) return logical;
  std::array<std::int64_t, Shape::kMaxRank> coordinates{};
  for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
    coordinates[static_cast<std::size_t>(axis)] = logical % shape_[axis];
    logical /= shape_[axis];
  }
  return offset_of(coordinates.data());
}

}  // namespace trainyard
