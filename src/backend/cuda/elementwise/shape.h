#pragma once

#include "backend/cuda/runtime/context.h"
#include "backend/cuda/runtime/walk.h"
#include "tensor/layout.h"

namespace trainyard::backend::cuda {

// Returns the axes of a tensor, outermost first.
std::vector<int> axis_order(const Layout& layout, int rank);

// Goes through a box in the order of `order`; strides are those of `whole` lying in `lies`.
device::Walk make_walk(const Layout& order, const Shape& box, const Layout& lies, const Shape& whole);

// Makes a copy between two layouts without blocks, or between plain and padded rows of a matrix.
std::unique_ptr<Kernel> make_reorder(Context& context, const graph::TensorType& type, const Layout& from,
                                     const Layout& to);

}  // namespace trainyard::backend::cuda
