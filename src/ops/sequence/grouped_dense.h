#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

// A dense layer for each group of rows: group e has the rows from offsets[e] to offsets[e + 1], which follow
// each other and end with the last row. A group may be empty. Sizes, and so the cost, do not depend on them.
// src (S, K), weight (E, O, K), offsets (i32 E + 1) [, bias (E * O)] -> dst (S, O)
// The biases of all groups are one vector, so that they stay in f32 and decay as other biases do.
extern const graph::OpDef grouped_dense_op;

struct GroupedDenseGradAttrs {
  bool bias = false;  // d_weight only: also make d_bias
};
extern const graph::OpDef grouped_dense_d_src_op;     // (d_dst, weight, offsets) -> d_src
extern const graph::OpDef grouped_dense_d_weight_op;  // (d_dst, src, offsets) -> d_weight [, d_bias]

// bias may be graph::kNone.
graph::ValueId grouped_dense(graph::Graph& graph, const std::string& name, graph::ValueId src,
                             graph::ValueId weight, graph::ValueId offsets, graph::ValueId bias);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> grouped_dense_ops();

}  // namespace trainyard::ops
