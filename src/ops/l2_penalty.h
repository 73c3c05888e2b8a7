#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct L2PenaltyAttrs {
  double coefficient = 0;  // the penalty is coefficient / 2 * sum of squares
};

extern const graph::OpDef l2_penalty_op;       // any number of weights -> scalar
extern const graph::OpDef l2_penalty_grad_op;  // (d_loss, weight) -> coefficient * d_loss * weight

graph::ValueId l2_penalty(graph::Graph& graph, const std::string& name, std::vector<graph::ValueId> weights,
                          double coefficient);

}  // namespace trainyard::ops
