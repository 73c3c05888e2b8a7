#pragma once

#include "graph/op_def.h"

// A layer of experts gives each row of a matrix to the few experts that a router chooses for it. No row is
// dropped: the choices of all rows, sorted by expert, are a matrix of rows * choices rows, on which the
// experts work (ops/grouped_dense.h) and whose rows are then added up again, each with its gate.
namespace trainyard::ops {

struct RouteAttrs {
  std::int64_t choices = 1;  // experts of each row
};

inline constexpr std::int64_t kMostExperts = 1024;

// scores (R, E) -> gates (R, choices), chosen (i32 R, choices), place (i32 R, choices), offsets (i32 E + 1)
// The experts of a row are those of its highest scores, highest first; of equal scores the first expert's.
// Their gates are the softmax of the chosen scores alone, as Mixtral has them (Jiang et al., 2024). `place`
// is the row of each choice among all choices sorted by expert, those of one expert in the order of rows;
// expert e has the rows from offsets[e] to offsets[e + 1].
extern const graph::OpDef route_op;

struct RouteGradAttrs {
  std::int64_t experts = 1;
};
extern const graph::OpDef route_grad_op;  // (d_gates, gates, chosen) -> d_scores (R, E)

struct Routed {
  graph::ValueId gates, chosen, place, offsets;
};
Routed route(graph::Graph& graph, const std::string& name, graph::ValueId scores, const RouteAttrs& attrs);

// src (R, W), place (i32 R, choices) -> dst (R * choices, W): each row at each of its places
extern const graph::OpDef dispatch_op;
extern const graph::OpDef dispatch_d_src_op;  // (d_dst, place) -> d_src: sums in the order of choices

graph::ValueId dispatch(graph::Graph& graph, const std::string& name, graph::ValueId src,
                        graph::ValueId place);

// src (R * choices, W), gates (R, choices), place (i32 R, choices) -> dst (R, W): the sum over the choices of
// each row of gate * row at its place
extern const graph::OpDef combine_op;
extern const graph::OpDef combine_grad_op;  // (d_dst, src, gates, place) -> d_src, d_gates

graph::ValueId combine(graph::Graph& graph, const std::string& name, graph::ValueId src,
                       const Routed& routed);

struct BalanceAttrs {
  double coefficient = 0;
};

// scores (R, E) and offsets (i32 E + 1) of each of any number of layers -> scalar
// The sum over the layers of coefficient * E * sum over experts of f p: f is the share of all choices that
// fell on the expert, p the mean over the rows of its probability, the softmax of all scores. It is smallest,
// the coefficient, where all experts are used alike (Fedus et al., 2021, formula 4, for several choices). No
// gradient goes through f.
extern const graph::OpDef balance_penalty_op;
extern const graph::OpDef balance_penalty_grad_op;  // (d_loss, scores, offsets) -> d_scores

struct Balanced {
  graph::ValueId scores, offsets;
};
graph::ValueId balance_penalty(graph::Graph& graph, const std::string& name,
                               const std::vector<Balanced>& layers, double coefficient);

// The lists name every op above, by source, for the registry.
std::vector<const graph::OpDef*> experts_ops();
std::vector<const graph::OpDef*> balance_penalty_ops();

}  // namespace trainyard::ops
