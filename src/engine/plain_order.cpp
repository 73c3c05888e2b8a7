#include "engine/plain_order.h"

#include "base/parallel.h"

namespace trainyard::engine {
namespace {

constexpr std::int64_t kRowElements = 256;  // long enough that finding a row costs little
constexpr std::int64_t kNear = 16;          // elements, about a cache line
constexpr std::int64_t kGrain = std::int64_t{1} << 15;

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  parallel_chunks(static_cast<std::int64_t>(bytes), kGrain * 8,
                  [&](std::int64_t begin, std::int64_t end, int) {
                    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
                  });
}

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

// A row, or a part of it: its place in the tensor, its first and last element.
struct PlainOrder::Row {
  std::int64_t offset, first, last;
};

PlainOrder::Row PlainOrder::row_at(std::int64_t at, std::int64_t end) const {
  const auto length = static_cast<std::int64_t>(row_.size());
  std::int64_t rest = at / length, offset = 0;
  for (auto axis = outer_axes_.rbegin(); axis != outer_axes_.rend(); ++axis) {
    const auto size = static_cast<std::int64_t>(axis->size());
    offset += (*axis)[static_cast<std::size_t>(rest % size)];
    rest /= size;
  }
  const std::int64_t first = at % length;
  return {offset, first, std::min(length, first + end - at)};
}

// Rows that lie side by side in the tensor share cache lines: some are copied together, so that a line is
// fetched once. More of them would evict each other from the first cache where rows are 4 KiB apart.
template <typename Word, bool kGather>
void PlainOrder::copy_part(Word* tensor, Word* plain, std::int64_t begin, std::int64_t end) const {
  std::array<Word*, 8> at{};
  for (std::int64_t done = begin; done < end;) {
    const Row row = row_at(done, end);
    const std::int64_t length = row.last - row.first;
    Word* const numbers = plain + (done - begin);
    std::size_t count = 0;
    for (; count < at.size() && done + length <= end; ++count, done += length) {
      const Row next = row_at(done, end);
      if (next.first != row.first || next.last != row.last || next.offset - row.offset >= kNear) break;
      at[count] = tensor + next.offset;
    }
    const auto together = [=, this](std::size_t rows) {
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t offset = row_[static_cast<std::size_t>(row.first + i)];
        for (std::size_t r = 0; r < rows; ++r) {
          Word &in_tensor = at[r][offset], &in_plain = numbers[static_cast<std::int64_t>(r) * length + i];
          kGather ? in_plain = in_tensor : in_tensor = in_plain;
        }
      }
    };
    count == 1 ? together(1) : together(count);  // the first without a loop inside
  }
}

template <typename Word, bool kGather>
void PlainOrder::copy(std::byte* tensor, std::byte* plain, std::int64_t begin, std::int64_t end) const {
  parallel_chunks(end - begin, kGrain, [&](std::int64_t from, std::int64_t to, int) {
    copy_part<Word, kGather>(reinterpret_cast<Word*>(tensor), reinterpret_cast<Word*>(plain) + from,
                             begin + from, begin + to);
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
    copy_bytes(tensor + static_cast<std::size_t>(begin) * element_bytes_, plain,
               static_cast<std::size_t>(end - begin) * element_bytes_);
  else
    copy_any<true>(const_cast<std::byte*>(tensor), plain, begin, end);
}

void PlainOrder::scatter(const std::byte* plain, std::int64_t begin, std::int64_t end,
                         std::byte* tensor) const {
  if (plain_)
    copy_bytes(plain, tensor + static_cast<std::size_t>(begin) * element_bytes_,
               static_cast<std::size_t>(end - begin) * element_bytes_);
  else
    copy_any<false>(tensor, const_cast<std::byte*>(plain), begin, end);
}

}  // namespace trainyard::engine
