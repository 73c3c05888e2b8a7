#pragma once

#include "graph/op_def.h"
#include "ops/window.h"

namespace trainyard::ops {

struct AveragePoolAttrs {
  Window2d window;
  bool count_padding = false;  // divide by the whole window even where it hangs over the edge
};

extern const graph::OpDef average_pool_op;  // src (N, C, H, W) -> dst (N, C, h, w)

struct AveragePoolGradAttrs {
  AveragePoolAttrs pool;
  Shape src_shape;
};
extern const graph::OpDef average_pool_d_src_op;  // (d_dst) -> d_src

graph::ValueId average_pool(graph::Graph& graph, const std::string& name, graph::ValueId src,
                            const AveragePoolAttrs& attrs);
// One window over the whole image: dst (N, C, 1, 1).
graph::ValueId global_average_pool(graph::Graph& graph, const std::string& name, graph::ValueId src);

}  // namespace trainyard::ops
