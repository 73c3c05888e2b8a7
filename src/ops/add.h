#pragma once

#include "graph/op_def.h"
#include "ops/activation.h"

namespace trainyard::ops {

struct AddAttrs {
  ActivationAttrs activation{Activation::none};  // set by the fusion pass
  // Set by the fusion pass on sums of gradients: let through only where the last input > 0 (it is not
  // summed).
  bool mask_by_last = false;
};

extern const graph::OpDef add_op;  // any number of equal shapes -> their sum

graph::ValueId add(graph::Graph& graph, const std::string& name, std::vector<graph::ValueId> terms);

}  // namespace trainyard::ops
