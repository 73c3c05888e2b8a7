#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "graph/op_def.h"

namespace trainyard::conformance {

// A problem is one case of one op.
struct Problem {
  std::string name;  // "conv2d_3x3_16": what CTest shows
  const graph::OpDef* op;
  graph::Case problem;
  bool forward_only = false;

  // GoogleTest calls this to print a parameter.
  friend void PrintTo(const Problem& problem, std::ostream* out) { *out << problem.name; }
};

// Returns every case of every op of the registry.
const std::vector<Problem>& all_problems();

// Returns true for the few ops that no GPU runs yet; it lists them by name, so that no other op is left out
// silently.
bool runs_on_hosts_only(const graph::OpDef& op);

// Returns the inputs and parameters that have a gradient: those of floating type.
std::vector<graph::ValueId> differentiable_values(const graph::Graph& graph);

// Appends inputs "d_y0", ... that stand for the gradients of the marked outputs, and the backward pass of the
// differentiable values; returns their gradients.
std::vector<graph::ValueId> append_backward(graph::Graph& graph);

// False for problems that say so, with no outputs, nothing to differentiate, or an op that refuses.
bool has_gradient(const Problem& problem);

}  // namespace trainyard::conformance
