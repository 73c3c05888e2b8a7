#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct SliceAttrs {
  Shape begin;  // first coordinate taken, on each axis
  Shape size;
};

extern const graph::OpDef slice_op;  // a box out of src

graph::ValueId slice(graph::Graph& graph, const std::string& name, graph::ValueId src, const Shape& begin,
                     const Shape& size);

}  // namespace trainyard::ops
