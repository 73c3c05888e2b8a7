#include "graph/analysis.h"

#include <algorithm>

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

std::int64_t bytes_saved(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.phase != Phase::forward) return 0;
  std::int64_t bytes = 0;
  for (const ValueId output : node.outputs) {
    const bool saved = std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& reader) {
      return reader.phase == Phase::backward &&
             std::find(reader.inputs.begin(), reader.inputs.end(), output) != reader.inputs.end();
    });
    if (saved) bytes += graph.value(output).type.bytes();
  }
  return bytes;
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

}  // namespace trainyard::graph
