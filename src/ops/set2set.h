#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

struct Set2SetAttrs {
  std::int64_t steps = 1;  // the most that a graph may ask for
  bool training = true;    // also makes what the gradient needs
};

// Reads unlike graphs out into rows of one width (Vinyals et al., 2016). With q* = [q, r] and the state of an
// lstm all zero at first, a step over the nodes x_i of a graph is
//   q = lstm(input q*, hidden q), as in recurrent.h
//   a = softmax over the nodes of x_i . q;  r = sum of a_i x_i
// Graph g has the rows segments[g] up to segments[g + 1] of src, and does steps[g] of them; r of a graph
// without nodes is zero.
//
// src (R, H), segments (i32 G + 1), steps (i32 G), weight (4H, 2H), recurrent_weight (4H, H), bias (4H)
// -> dst (G, 2H): the last q* and, in training, with T = attrs.steps,
//    queries (T, G, 2H): q* after each step, gates (T, G, 4H) after their activations, cells (T, G, H),
//    attention (T, R). Zero where a graph has fewer steps.
extern const graph::OpDef set2set_op;

struct Set2SetGradAttrs {
  std::int64_t steps = 1;
  bool d_src = true;  // false: nobody wants it
};
// (d_dst, src, segments, steps, weight, recurrent_weight, queries, gates, cells, attention)
// -> d_weight, d_recurrent_weight, d_bias [, d_src]
extern const graph::OpDef set2set_grad_op;

struct Set2SetInputs {
  graph::ValueId src, segments, steps, weight, recurrent_weight, bias;
};
graph::ValueId set2set(graph::Graph& graph, const std::string& name, const Set2SetInputs& inputs,
                       const Set2SetAttrs& attrs);

}  // namespace trainyard::ops
