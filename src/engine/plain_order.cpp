#include "engine/plain_order.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"

namespace trainyard::engine {
namespace {

constexpr std::int64_t kRowElements = 256;  // long enough that finding a row costs little
constexpr std::int64_t kGrain = std::int64_t{1} << 15;

}  // namespace

PlainOrder::PlainOrder(const Layout& layout, const Shape& shape, DType dtype)
    : plain_(layout.is_plain()), element_bytes_(size_of(dtype)) {
  if (plain_) return;
  const LayoutIndex index(layout, shape);
  int first_inner = shape.rank();
  while (first_inner > 0 && shape.elements_from(first_inner) < kRowElements) --first_inner;
  for (std::int64_t i = 0; i < shape.elements_from(first_inner); ++i) row_.push_back(index.offset_of(i));
  for (int axis = 0; axis < first_inner; ++axis) {
    std::array<std::int64_t, Shape::kMaxRank> coordinates{};
    auto& offsets = outer_axes_.emplace_back();
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
      coordinates[static_cast<std::size_t>(axis)] = i;
      offsets.push_back(index.offset_of(coordinates.data()));
    }
  }
}

// move(offset of the row in the tensor, first element of the row, end in the row, elements since `begin`)
template <typename Move>
void PlainOrder::for_each_row(std::int64_t begin, std::int64_t end, const Move& move) const {
  const auto length = static_cast<std::int64_t>(row_.size());
  for (std::int64_t at = begin; at < end;) {
    std::int64_t rest = at / length, offset = 0;
    for (auto axis = outer_axes_.rbegin(); axis != outer_axes_.rend(); ++axis) {
      const auto size = static_cast<std::int64_t>(axis->size());
      offset += (*axis)[static_cast<std::size_t>(rest % size)];
      rest /= size;
    }
    const std::int64_t first = at % length, last = std::min(length, first + end - at);
    move(offset, first, last, at - begin);
    at += last - first;
  }
}

template <typename Word, bool kGather>
void PlainOrder::copy(std::byte* tensor, std::byte* plain, std::int64_t begin, std::int64_t end) const {
  parallel_chunks(end - begin, kGrain, [&](std::int64_t from, std::int64_t to, int) {
    for_each_row(begin + from, begin + to,
                 [&](std::int64_t offset, std::int64_t first, std::int64_t last, std::int64_t done) {
                   Word* at = reinterpret_cast<Word*>(tensor) + offset;
                   Word* row = reinterpret_cast<Word*>(plain) + from + done - first;
                   for (std::int64_t i = first; i < last; ++i) {
                     Word& other = at[row_[static_cast<std::size_t>(i)]];
                     kGather ? row[i] = other : other = row[i];
                   }
                 });
  });
}

template <bool kGather>
void PlainOrder::copy_any(std::byte* tensor, std::byte* plain, std::int64_t begin, std::int64_t end) const {
  switch (element_bytes_) {
    case 1:
      return copy<std::uint8_t, kGather>(tensor, plain, begin, end);
    case 2:
      return copy<std::uint16_t, kGather>(tensor, plain, begin, end);
    case 4:
      return copy<std::uint32_t, kGather>(tensor, plain, begin, end);
    case 8:
      return copy<std::uint64_t, kGather>(tensor, plain, begin, end);
  }
  TRAINYARD_CHECK(false);
}

void PlainOrder::gather(const std::byte* tensor, std::int64_t begin, std::int64_t end,
                        std::byte* plain) const {
  if (plain_)
    std::memcpy(plain, tensor + static_cast<std::size_t>(begin) * element_bytes_,
                static_cast<std::size_t>(end - begin) * element_bytes_);
  else
    copy_any<true>(const_cast<std::byte*>(tensor), plain, begin, end);
}

void PlainOrder::scatter(const std::byte* plain, std::int64_t begin, std::int64_t end,
                         std::byte* tensor) const {
  if (plain_)
    std::memcpy(tensor + static_cast<std::size_t>(begin) * element_bytes_, plain,
                static_cast<std::size_t>(end - begin) * element_bytes_);
  else
    copy_any<false>(tensor, const_cast<std::byte*>(plain), begin, end);
}

}  // namespace trainyard::engine
