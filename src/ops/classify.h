#pragma once

#include "graph/op_def.h"
#include "ops/dropout.h"

namespace trainyard::ops {

struct ClassifyAttrs {
  double label_smoothing = 0;
  // Not 0: d_src also passes back through a ReLU, and a dropout behind it, that made src; this is the scale
  // of the dropout, or 1.
  double mask_scale = 0;
  // A rate of 0: none. Else src goes through it first, and a sixth output is what comes out (N, C).
  DropoutAttrs dropout{.rate = 0};
};

// A last layer with its loss, forward and back for d_loss = 1. Made by the fusion pass of dropout, dense,
// softmax_cross_entropy with its gradient, dense_d_src and the gradient of a ReLU.
// src (N, C), weight (K, C), bias (K), labels (i32 N) -> logits (N, K), loss (scalar), probabilities (N, K),
// d_logits (N, K), d_src (N, C); loss and probabilities are f32 when src is bf16
extern const graph::OpDef classify_op;

}  // namespace trainyard::ops
