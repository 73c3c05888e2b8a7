#pragma once

#include "graph/op_def.h"
#include "ops/elementwise.h"

namespace trainyard::ops {

struct BatchNormApplyAttrs {
  ActivationAttrs activation{Activation::none};
  bool residual = false;  // the last input is added before the activation
};

// The second half of batch_norm, which the planner makes where its result is computed again: with the
// statistics that the first run found, and without a change of the running ones.
// src (N, C, H, W) or (N, C), gamma (C), beta (C), mean (C), inverse_deviation (C) [, residual] -> dst
extern const graph::OpDef batch_norm_apply_op;

// Lists the op for the registry.
std::vector<const graph::OpDef*> batch_norm_apply_ops();

}  // namespace trainyard::ops
