#pragma once

#include "graph/op_def.h"
#include "ops/resize_values.h"

namespace trainyard::ops {

struct ResizeAttrs {
  ResizePlaces places = ResizePlaces::half_pixel;
  Shape shape;  // of the image that is made: dst, or the gradient of src
};

// src (N, C, H, W) -> dst (N, C, h, w): each pixel lies between four of the source, in both directions
// linearly.
extern const graph::OpDef resize_op;
extern const graph::OpDef resize_d_src_op;  // (d_dst) -> d_src

graph::ValueId resize(graph::Graph& graph, const std::string& name, graph::ValueId src,
                      const ResizeAttrs& attrs);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> resize_ops();

}  // namespace trainyard::ops
