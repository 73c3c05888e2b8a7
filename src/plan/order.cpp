#include <algorithm>

#include "plan/passes.h"

namespace trainyard::plan {

graph::Graph live_nodes(const graph::Graph& graph) {
  std::vector<bool> needed(graph.values().size(), false);
  for (const graph::ValueId output : graph.outputs()) needed[static_cast<std::size_t>(output)] = true;
  std::vector<graph::Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool makes_needed =
        std::any_of(node->outputs.begin(), node->outputs.end(),
                    [&](graph::ValueId output) { return needed[static_cast<std::size_t>(output)]; });
    // A node that changes state is wanted for that, not only for its outputs.
    if (!makes_needed && graph::mutated_inputs({graph, *node}).empty()) continue;
    for (const graph::ValueId input : node->inputs) needed[static_cast<std::size_t>(input)] = true;
    kept.push_back(*node);
  }
  std::reverse(kept.begin(), kept.end());
  graph::Graph result = graph;
  result.replace_nodes(std::move(kept));
  return result;
}

}  // namespace trainyard::plan
