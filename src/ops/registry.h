#pragma once

#include <vector>

#include "graph/op_def.h"

namespace trainyard::ops {

// Every op, one row each; tests walk it.
const std::vector<const graph::OpDef*>& all_ops();

}  // namespace trainyard::ops
