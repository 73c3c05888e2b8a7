#include "graph/autodiff.h"

namespace trainyard::graph {

Cost cost_of(const Graph& graph, NodeId node) {
  const NodeView view(graph, graph.node(node));
  return view.node().op->cost(view);
}

Cost total_cost(const Graph& graph) {
  Cost total;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) total += cost_of(graph, static_cast<NodeId>(n));
  return total;
}

Cost total_cost(const Graph& graph, Phase phase) {
  Cost total;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    if (graph.nodes()[n].phase == phase) total += cost_of(graph, static_cast<NodeId>(n));
  return total;
}

std::int64_t total_bytes_saved(const Graph& graph) {
  std::vector<bool> counted(graph.values().size(), false);
  std::int64_t bytes = 0;
  for (const Node& reader : graph.nodes()) {
    if (reader.phase != Phase::backward) continue;
    for (const ValueId input : reader.inputs) {
      const Value& value = graph.value(input);
      if (value.producer == kNone || graph.node(value.producer).phase != Phase::forward) continue;
      if (counted[static_cast<std::size_t>(input)]) continue;
      counted[static_cast<std::size_t>(input)] = true;
      bytes += value.type.bytes();
    }
  }
  return bytes;
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const ValueId parameter : graph.values_with(Role::parameter))
    count += graph.shape(parameter).elements();
  return count;
}

namespace {

// Marks the wanted values and those that depend on one of them.
std::vector<bool> values_needing_gradient(const Graph& graph, const std::vector<ValueId>& wanted) {
  std::vector<bool> needed(graph.values().size(), false);
  for (const ValueId value : wanted) needed[static_cast<std::size_t>(value)] = true;
  for (const Node& node : graph.nodes()) {
    if (node.op->gradient == nullptr) continue;
    bool depends = false;
    for (const ValueId input : node.inputs) depends = depends || needed[static_cast<std::size_t>(input)];
    if (!depends) continue;  // an output may be wanted itself
    for (const ValueId output : node.outputs) needed[static_cast<std::size_t>(output)] = true;
  }
  return needed;
}

}  // namespace

std::vector<ValueId> differentiate(Graph& graph, const std::vector<ValueId>& outputs,
                                   const std::vector<ValueId>& d_outputs, const std::vector<ValueId>& wanted,
                                   const SumGradients& sum) {
  TRAINYARD_CHECK(outputs.size() == d_outputs.size());
  graph.set_phase(Phase::backward);
  const std::vector<bool> needed = values_needing_gradient(graph, wanted);
  std::vector<std::vector<ValueId>> contributions(graph.values().size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    contributions[static_cast<std::size_t>(outputs[i])].push_back(d_outputs[i]);

  const auto total = [&](ValueId value) {
    auto& parts = contributions[static_cast<std::size_t>(value)];
    if (parts.empty()) return kNone;
    if (parts.size() > 1) {
      // Gradients of parameters outlive the step; terms of a shared one's do not.
      if (graph.value(value).role == Role::parameter)
        for (const ValueId part : parts) graph.set_gradient_of(part, kNone);
      parts = {sum(graph, parts)};
      graph.set_gradient_of(parts.front(), value);
    }
    return parts.front();
  };

  for (NodeId n = static_cast<NodeId>(graph.nodes().size()) - 1; n >= 0; --n) {
    const Node& node = graph.node(n);
    if (node.phase != Phase::forward || node.op->gradient == nullptr) continue;
    std::vector<bool> inputs_needed;
    bool any_needed = false;
    for (const ValueId input : node.inputs) {
      inputs_needed.push_back(needed[static_cast<std::size_t>(input)]);
      any_needed = any_needed || inputs_needed.back();
    }
    if (!any_needed) continue;
    const std::vector<ValueId> inputs = node.inputs, node_outputs = node.outputs;
    std::vector<ValueId> gradients;
    bool reached = false;
    for (const ValueId output : node_outputs) {
      gradients.push_back(total(output));
      reached = reached || gradients.back() != kNone;
    }
    if (!reached) continue;
    GradientContext context(graph, n, gradients, inputs_needed);
    context.node().op->gradient(context);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ValueId gradient = context.d_inputs()[i];
      if (gradient == kNone) continue;
      contributions[static_cast<std::size_t>(inputs[i])].push_back(gradient);
      graph.set_gradient_of(gradient, inputs[i]);
    }
  }
  std::vector<ValueId> result;
  for (const ValueId value : wanted) result.push_back(total(value));
  graph.set_phase(Phase::forward);
  return result;
}

}  // namespace trainyard::graph
