#pragma once

#include "graph/op_def.h"
#include "ops/elementwise.h"

namespace trainyard::ops {

extern const graph::OpDef softmax_op;       // src (N, K) -> each row's exponentials over their sum
extern const graph::OpDef softmax_grad_op;  // (d_dst, dst) -> d_src

graph::ValueId softmax(graph::Graph& graph, const std::string& name, graph::ValueId src);

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

// logits (T, N, V), or (T*N, V) as a dense layer leaves them, labels (i32 T, N), lengths (i32 N) -> loss
// (scalar), log_sums (T*N): of each step the logarithm of the sum of exponentials; both in f32 when the
// logits are bf16. Step t of sequence n counts where t < lengths[n] and its label is not kNoLabel. The loss
// is the sum of the cross-entropies that count over the number of them, zero where none does; log_sums are
// zero at steps that do not count.
inline constexpr std::int32_t kNoLabel = -1;
extern const graph::OpDef sequence_cross_entropy_op;
// (d_loss, logits, labels, lengths, log_sums) -> d_logits: zero at steps that do not count. It computes the
// probabilities again, because vocabularies are large: nothing as large as the logits is kept in f32.
extern const graph::OpDef sequence_cross_entropy_grad_op;

graph::ValueId sequence_cross_entropy(graph::Graph& graph, const std::string& name, graph::ValueId logits,
                                      graph::ValueId labels, graph::ValueId lengths);

struct ClassifyAttrs {
  double label_smoothing = 0;
  // If not 0, d_src also passes back through a ReLU, and a dropout behind it, that made src; the value is the
  // scale of the dropout, or 1.
  double mask_scale = 0;
  // A rate of 0 means no dropout. Otherwise src passes through the dropout first, and a sixth output holds
  // its result (N, C).
  DropoutAttrs dropout{.rate = 0};
};

// A last layer with its loss, forward and back for d_loss = 1. Made by the fusion pass of dropout, dense,
// softmax_cross_entropy with its gradient, dense_d_src and the gradient of a ReLU.
// src (N, C), weight (K, C), bias (K), labels (i32 N) -> logits (N, K), loss (scalar), probabilities (N, K),
// d_logits (N, K), d_src (N, C); loss and probabilities are f32 when src is bf16
extern const graph::OpDef classify_op;

// Lists every op above for the registry.
std::vector<const graph::OpDef*> loss_ops();

}  // namespace trainyard::ops
