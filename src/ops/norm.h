#pragma once

#include "graph/op_def.h"
#include "ops/elementwise.h"

namespace trainyard::ops {

struct BatchNormAttrs {
  double epsilon = 1e-5;
  double momentum = 0.1;                         // weight of the new batch in the running statistics
  bool training = true;                          // false: normalise by the running statistics
  ActivationAttrs activation{Activation::none};  // set by the fusion pass
  // Set by the fusion pass: the last input is added to what was normalised, before the activation.
  bool residual = false;
};

// src (N, C, H, W) or (N, C), gamma (C), beta (C), running_mean (C), running_variance (C) [, residual]
// -> dst, mean (C), inverse_deviation (C): what the gradient needs of this batch. Changes the running
// statistics when training; the running variance is the unbiased one, as frameworks keep it.
extern const graph::OpDef batch_norm_op;

struct BatchNormGradAttrs {
  // Set by the fusion pass: the gradient is let through only where dst > 0, and dst becomes the last input.
  bool mask_by_dst = false;
  // The same where dst is nothing but the ReLU of the normalised src: then it follows from src again, and the
  // last input is beta.
  bool mask_by_beta = false;
};
// (d_dst, src, gamma, mean, inverse_deviation [, dst or beta]) -> d_src, d_gamma, d_beta
extern const graph::OpDef batch_norm_grad_op;

struct BatchNormInputs {
  graph::ValueId src, gamma, beta, running_mean, running_variance;
};
graph::ValueId batch_norm(graph::Graph& graph, const std::string& name, const BatchNormInputs& inputs,
                          const BatchNormAttrs& attrs);

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

struct L2PenaltyAttrs {
  double coefficient = 0;  // the penalty is coefficient / 2 * sum of squares
};

extern const graph::OpDef l2_penalty_op;       // any number of weights -> scalar
extern const graph::OpDef l2_penalty_grad_op;  // (d_loss, weight) -> coefficient * d_loss * weight

graph::ValueId l2_penalty(graph::Graph& graph, const std::string& name, std::vector<graph::ValueId> weights,
                          double coefficient);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> norm_ops();

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
