#pragma once

#include "graph/op_def.h"

namespace trainyard::ops {

// The sum that a node takes over its neighbours, with A the matrix of edges and D its row sums plus one:
//   normalised  D^-1/2 (A + I) D^-1/2 s, the convolution of Kipf and Welling
//   summed      (A + I) s, that of the graph isomorphism network with epsilon 0
enum class Neighbours : std::uint8_t { normalised, summed };

const char* name(Neighbours neighbours);

struct GatedGraphConvAttrs {
  Neighbours neighbours = Neighbours::normalised;
  std::int64_t rounds = 1;  // the most that a graph may ask for
  int layers = 1;           // dense ones behind the neighbours' sum
  double slope = 0.01;      // of the leaky ReLU after each of them
  bool training = true;     // also makes what the gradient needs
};

// Rounds of a graph convolution and a gated unit with one set of weights, over a batch of unlike graphs. With
// s the state of a node, first its features and zeros behind them, a round is
//   h = layers(neighbours(s)), each layer leaky_relu(W v + b)
//   s = gru(input s, hidden h), as in recurrent.h, with a bias of its own on the side of U
// Graph g has the rows segments[g] up to segments[g + 1], and does rounds[g] of them. Node i has the
// neighbours neighbours[offsets[i]] up to neighbours[offsets[i + 1]], rows of its own graph. Rows of no graph
// count for nothing; their dst is zero.
//
// src (R, I), segments (i32 G + 1), rounds (i32 G), offsets (i32 R + 1), neighbours (i32 E),
// weight (3H, H), recurrent_weight (3H, H), bias (3H), recurrent_bias (3H),
// then weight (H, I) and bias (H) of the first layer, and weight (H, H) and bias (H) of the second
// -> dst (R, H) and, in training, with T = attrs.rounds and L = attrs.layers,
//    states (T, R, H) after each round, hidden (T * L, R, H) after each layer,
//    gates (T, R, 3H) after their activations, inner (T, R, H): the U h + b of gru's n.
//    Zero where a graph has fewer rounds.
extern const graph::OpDef gated_graph_conv_op;

struct GatedGraphConvGradAttrs {
  GatedGraphConvAttrs forward{};
  bool d_src = true;  // false: nobody wants it
};
// (d_dst, src, segments, rounds, offsets, neighbours, weight, recurrent_weight, weights of the layers,
// states, hidden, gates, inner) -> gradients of weight, recurrent_weight, bias, recurrent_bias, weight and
// bias of each layer [, d_src]
extern const graph::OpDef gated_graph_conv_grad_op;

struct GraphBatch {
  graph::ValueId segments, rounds, offsets, neighbours;
};
struct GatedGraphConvWeights {
  graph::ValueId weight, recurrent_weight, bias, recurrent_bias;
  std::vector<graph::ValueId> layers;  // weight, bias of each
};
graph::ValueId gated_graph_conv(graph::Graph& graph, const std::string& name, graph::ValueId src,
                                const GraphBatch& batch, const GatedGraphConvWeights& weights,
                                const GatedGraphConvAttrs& attrs);

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

// The lists name every op above, by source, for the registry.
std::vector<const graph::OpDef*> gated_graph_conv_ops();
std::vector<const graph::OpDef*> set2set_ops();

}  // namespace trainyard::ops
