#include "problems.h"

#include <string_view>

#include "ops/registry/registry.h"

namespace trainyard::conformance {

using graph::Graph;
using graph::Initializer;
using graph::ValueId;

const std::vector<Problem>& all_problems() {
  static const std::vector<Problem> problems = [] {
    std::vector<Problem> all;
    for (const graph::OpDef* op : ops::all_ops())
      if (op->cases != nullptr)
        for (const graph::Case& one : op->cases())
          all.push_back({std::string(op->name) + "_" + one.name, op, one, false});
    return all;
  }();
  return problems;
}

bool runs_on_hosts_only(const graph::OpDef& op) {
  return std::string_view(op.name) == "gated_graph_conv" || std::string_view(op.name) == "set2set";
}

std::vector<ValueId> differentiable_values(const Graph& graph) {
  std::vector<ValueId> found;
  for (const graph::Role role : {graph::Role::input, graph::Role::parameter})
    for (const ValueId value : graph.values_with(role))
      if (graph.dtype(value) == DType::f32 || graph.dtype(value) == DType::f64) found.push_back(value);
  return found;
}

std::vector<ValueId> append_backward(Graph& graph) {
  const std::vector<ValueId> wanted = differentiable_values(graph);
  std::vector<ValueId> d_outputs;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    d_outputs.push_back(graph.add_input(fmt::format("d_y{}", i), graph.value(graph.outputs()[i]).type,
                                        Initializer::normal(1)));
  return ops::backward(graph, graph.outputs(), d_outputs, wanted);
}

bool has_gradient(const Problem& problem) {
  if (problem.forward_only || (problem.op != nullptr && problem.op->gradient == nullptr)) return false;
  Graph graph;
  problem.problem.build(graph, DType::f64);
  if (graph.outputs().empty() || differentiable_values(graph).empty()) return false;
  try {
    append_backward(graph);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    return false;
  }
  return true;
}

}  // namespace trainyard::conformance
