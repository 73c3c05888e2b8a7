#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct SoftmaxCrossEntropyAttrs {
  double label_smoothing = 0;  // the target is (1 - s) * label + s / K
  bool with_gradient = false;  // set by the fusion pass: a third output is d_logits for d_loss = 1
  bool d_logits_bf16 = false;  // set by the fusion pass: the gradient takes over a cast behind it
};

// logits (N, K), labels (i32 N, or one-hot / soft (N, K)) -> loss (scalar, mean over N), probabilities (N,
// K), both in f32 when the logits are bf16
extern const graph::OpDef softmax_cross_entropy_op;
// (d_loss, probabilities, labels) -> d_logits
extern const graph::OpDef softmax_cross_entropy_grad_op;

struct LossAndProbabilities {
  graph::ValueId loss, probabilities;
};
LossAndProbabilities softmax_cross_entropy(graph::Graph& graph, const std::string& name,
                                           graph::ValueId logits, graph::ValueId labels,
                                           const SoftmaxCrossEntropyAttrs& attrs = {});

}  // namespace trainyard::ops
