#pragma once

#include <memory>

#include "backend/cuda/context.h"

namespace trainyard::backend::cuda {

// A copy between two layouts without blocks.
std::unique_ptr<Kernel> make_reorder(Context& context, const graph::TensorType& type, const Layout& from,
                                     const Layout& to);

}  // namespace trainyard::backend::cuda
