#pragma once

#include "tensor/tensor.h"

namespace trainyard::backend::reference {

// A box of shape `size` that starts at `begin` of a whole tensor: calls visit(first element in the box, first
// element in the whole, length) for each of its contiguous rows.
template <typename Visit>
void for_each_row_of_box(const Shape& whole, const Shape& begin, const Shape& size, const Visit& visit) {
  const int last = size.rank() - 1;
  const std::int64_t length = size.rank() == 0 ? 1 : size[last];
  for (std::int64_t first = 0; first < size.elements(); first += length) {
    std::int64_t rest = first, in_whole = 0, stride = 1;
    for (int axis = last; axis >= 0; --axis) {
      in_whole += (begin[axis] + rest % size[axis]) * stride;
      rest /= size[axis];
      stride *= whole[axis];
    }
    visit(static_cast<std::size_t>(first), static_cast<std::size_t>(in_whole),
          static_cast<std::size_t>(length));
  }
}

}  // namespace trainyard::backend::reference
