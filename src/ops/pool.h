#pragma once

#include "graph/op_def.h"
#include "ops/elementwise.h"
#include "ops/window.h"

namespace trainyard::ops {

struct MaxPoolAttrs {
  Window2d window;
};

// src (N, C, H, W) -> dst (N, C, h, w), choice (u8, as dst): the place in the window the maximum came from,
// row-major, the first one on ties.
extern const graph::OpDef max_pool_op;

struct MaxPoolGradAttrs {
  Window2d window;
  Shape src_shape;
  // Set by the fusion pass where dst is the pool of a ReLU, or a ReLU of the pool: the gradient is let
  // through only where dst > 0, and dst becomes the third input.
  bool mask_by_dst = false;
};
extern const graph::OpDef max_pool_d_src_op;  // (d_dst, choice [, dst]) -> d_src

graph::ValueId max_pool(graph::Graph& graph, const std::string& name, graph::ValueId src,
                        const Window2d& window);

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
// Averages over the whole image: dst (N, C, 1, 1).
graph::ValueId global_average_pool(graph::Graph& graph, const std::string& name, graph::ValueId src);

// Each pixel becomes a square of factor x factor pixels.
struct UpsampleAttrs {
  std::int64_t factor = 2;
};
extern const graph::OpDef upsample_op;        // src (N, C, h, w) -> dst (N, C, factor * h, factor * w)
extern const graph::OpDef upsample_d_src_op;  // (d_dst) -> d_src: the sums of squares

graph::ValueId upsample(graph::Graph& graph, const std::string& name, graph::ValueId src,
                        const UpsampleAttrs& attrs = {});

// Lists every op above for the registry.
std::vector<const graph::OpDef*> pool_ops();

}  // namespace trainyard::ops
