#pragma once

#include <vector>

#include "backend/kernel.h"

namespace trainyard::backend::reference {

// Plain loops for every op: the executable specification, and the last resort of other backends.
const std::vector<Candidate>& candidates();

// Copies element by element through both layouts.
std::unique_ptr<Kernel> make_reorder(const graph::TensorType& type, const Layout& from, const Layout& to);

}  // namespace trainyard::backend::reference
