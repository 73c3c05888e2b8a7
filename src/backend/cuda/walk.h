#pragma once

#include "backend/cuda/device/walk.h"
#include "tensor/layout.h"

namespace trainyard::backend::cuda {

// The axes of a tensor, outermost first.
std::vector<int> axis_order(const Layout& layout, int rank);

// Goes through a box in the order of `order`; strides are those of `whole` lying in `lies`.
device::Walk make_walk(const Layout& order, const Shape& box, const Layout& lies, const Shape& whole);

}  // namespace trainyard::backend::cuda
