#include <algorithm>
#include <vector>

#include "graph/analysis.h"
#include "networks/generator/counts.h"

namespace trainyard::networks::generator {
namespace {

using graph::Graph;
using graph::Role;
using graph::Value;
using graph::ValueId;

bool is_persistent(const Graph& graph, const Value& value) {
  if (value.role != Role::intermediate) return true;
  return value.gradient_of != graph::kNone && graph.value(value.gradient_of).role == Role::parameter;
}

std::vector<bool> saved_values(const Graph& graph) {
  std::vector<bool> saved(graph.values().size(), false);
  for (const graph::Node& reader : graph.nodes()) {
    if (reader.phase != graph::Phase::backward) continue;
    for (const ValueId input : reader.inputs) {
      const graph::NodeId producer = graph.value(input).producer;
      if (producer != graph::kNone && graph.node(producer).phase == graph::Phase::forward)
        saved[static_cast<std::size_t>(input)] = true;
    }
  }
  return saved;
}

std::int64_t peak_bytes(const Graph& graph) {
  const std::vector<bool> saved = saved_values(graph);
  std::vector<bool> apart(saved.size());  // not only while one node runs
  std::int64_t kept = 0, most = 0;
  std::vector<bool> output(saved.size(), false);
  for (const ValueId value : graph.outputs()) output[static_cast<std::size_t>(value)] = true;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const Value& value = graph.values()[i];
    apart[i] = saved[i] || output[i] || is_persistent(graph, value);
    if (apart[i]) kept += value.type.bytes();
  }
  for (const graph::Node& node : graph.nodes()) {
    std::vector<ValueId> touched = node.inputs;
    touched.insert(touched.end(), node.outputs.begin(), node.outputs.end());
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    std::int64_t bytes = 0;
    for (const ValueId value : touched)
      if (!apart[static_cast<std::size_t>(value)]) bytes += graph.value(value).type.bytes();
    most = std::max(most, bytes);
  }
  return kept + most;
}

}  // namespace

Counts count_graph(const Graph& graph) {
  const graph::Cost forward = graph::total_cost(graph, graph::Phase::forward),
                    backward = graph::total_cost(graph, graph::Phase::backward);
  return {.parameters = graph::parameter_count(graph),
          .forward_flops = forward.flops,
          .backward_flops = backward.flops,
          .compulsory_bytes = graph::total_cost(graph).bytes_moved,
          .saved_bytes = graph::total_bytes_saved(graph),
          .peak_bytes = peak_bytes(graph)};
}

}  // namespace trainyard::networks::generator
