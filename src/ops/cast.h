#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct CastAttrs {
  DType to = DType::f32;
};

// Any number of tensors -> each in another type, rounded to nearest. All weights of a network go in one node.
extern const graph::OpDef cast_op;

std::vector<graph::ValueId> cast(graph::Graph& graph, const std::string& name,
                                 std::vector<graph::ValueId> sources, DType to);

}  // namespace trainyard::ops
