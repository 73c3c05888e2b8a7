#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct DropoutAttrs {
  double rate = 0.5;         // share of elements set to zero; the rest is scaled by 1 / (1 - rate)
  std::uint64_t stream = 0;  // which random stream; the gradient is the same op with the same stream
};

// The mask follows from (seed, step, stream, logical element index) alone, so nothing is saved.
extern const graph::OpDef dropout_op;

graph::ValueId dropout(graph::Graph& graph, const std::string& name, graph::ValueId src, double rate);

}  // namespace trainyard::ops
