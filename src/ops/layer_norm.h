#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct LayerNormAttrs {
  double epsilon = 1e-5;
  bool centred = true;  // false: RMS norm, which divides by the root of the mean square and has no beta
  // Set by the fusion pass: src is the sum of input 0 and of the last input, and the sum is the last output.
  // The gradient adds its last input to d_src.
  bool adds = false;
  bool column_sums = false;  // set by the fusion pass on gradients: also sum the columns of d_src
};

// Each row of src (R, C) is brought to mean 0 and variance 1, multiplied by gamma (C), and beta (C) is added.
// src, gamma [, beta] [, term] -> dst, inverse_deviation (R) [, mean (R)] [, sum]; beta and mean where it is
// centred, term and sum where it adds. The sum is rounded to its type before it is normalised.
extern const graph::OpDef layer_norm_op;
// (d_dst, src, gamma, inverse_deviation [, mean] [, term]) -> d_src, d_gamma [, d_beta] [, column_sums (C)]
extern const graph::OpDef layer_norm_grad_op;

// beta is graph::kNone for RMS norm.
graph::ValueId layer_norm(graph::Graph& graph, const std::string& name, graph::ValueId src,
                          graph::ValueId gamma, graph::ValueId beta, double epsilon);

// Lists every op above for the registry.
std::vector<const graph::OpDef*> layer_norm_ops();

}  // namespace trainyard::ops
