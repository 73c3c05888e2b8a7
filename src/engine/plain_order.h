#pragma once

#include "tensor/layout.h"
#include "tensor/tensor.h"

namespace trainyard::engine {

// Copies ranges of a tensor between its layout and plain order, with all threads. A layout's offset is a sum
// of one term per axis, so a table of the innermost axes and one of each outer axis replace all divisions.
class PlainOrder {
 public:
  PlainOrder(const Layout& layout, const Shape& shape, DType dtype);

  // Elements [begin, end) of the plain order; `plain` points at element `begin`, `tensor` at the tensor.
  void gather(const std::byte* tensor, std::int64_t begin, std::int64_t end, std::byte* plain) const;
  void scatter(const std::byte* plain, std::int64_t begin, std::int64_t end, std::byte* tensor) const;

 private:
  struct Row;
  Row row_at(std::int64_t at, std::int64_t end) const;
  template <typename Word, bool kGather>
  void copy_part(Word* tensor, Word* plain, std::int64_t begin, std::int64_t end) const;
  template <typename Word, bool kGather>
  void copy(std::byte* tensor, std::byte* plain, std::int64_t begin, std::int64_t end) const;
  template <bool kGather>
  void copy_any(std::byte* tensor, std::byte* plain, std::int64_t begin, std::int64_t end) const;

  bool plain_;
  std::size_t element_bytes_;
  std::vector<std::int64_t> row_;                      // offsets of the innermost axes, taken together
  std::vector<std::vector<std::int64_t>> outer_axes_;  // offsets along each other axis, outermost first
};

}  // namespace trainyard::engine
