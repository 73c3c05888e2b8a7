#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

// dst = src / (k + alpha * sum of squares over `window` neighbouring channels) ^ beta. As in TensorFlow,
// alpha is not divided by the window.
struct LocalResponseNormAttrs {
  std::int64_t window = 9;  // odd: radius 4 on either side
  double k = 1;
  double alpha = 0.001 / 9;
  double beta = 0.75;
};

extern const graph::OpDef local_response_norm_op;       // src (N, C, H, W) -> dst
extern const graph::OpDef local_response_norm_grad_op;  // (d_dst, src) -> d_src

graph::ValueId local_response_norm(graph::Graph& graph, const std::string& name, graph::ValueId src,
                                   const LocalResponseNormAttrs& attrs = {});

}  // namespace trainyard::ops
