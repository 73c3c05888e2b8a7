#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct ConcatAttrs {
  int axis = 1;
};

extern const graph::OpDef concat_op;  // shapes that agree but for one axis -> joined along it

graph::ValueId concat(graph::Graph& graph, const std::string& name, std::vector<graph::ValueId> parts,
                      int axis = 1);

}  // namespace trainyard::ops
