#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct MatmulAttrs {
  bool transpose_a = false, transpose_b = false;  // of the last two axes
};

// a (..., M, K), b (..., K, N), each transposed where the attributes say so, with the same axes before the
// last two -> dst (..., M, N)
extern const graph::OpDef matmul_op;

graph::ValueId matmul(graph::Graph& graph, const std::string& name, graph::ValueId a, graph::ValueId b,
                      const MatmulAttrs& attrs = {});

struct PermuteAttrs {
  std::vector<int> order;  // axis i of dst is axis order[i] of src
};

extern const graph::OpDef permute_op;  // src -> the same elements with their axes in another order

graph::ValueId permute(graph::Graph& graph, const std::string& name, graph::ValueId src,
                       std::vector<int> order);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> matmul_ops();

}  // namespace trainyard::ops
