#include "predict/graph_features/legacy_features.h"

#include <algorithm>

#include "base/error.h"
#include "predict/graph_features/fluid_communities.h"
#include "predict/graph_features/undirected_graph.h"

namespace trainyard::predict {
namespace {

// Elements of the first output; 0 of a scalar and where it is not known.
double tensor_size(const exchange::OpNode& op) {
  if (op.outputs.empty() || op.outputs[0].dims.empty()) return 0;
  return static_cast<double>(op.outputs[0].elements().value_or(0));
}

}  // namespace

LegacyFeatures legacy_features(const exchange::ExchangeGraph& graph, const OpVocabulary& frequencies,
                               const LegacyOptions& options) {
  LegacyFeatures result;
  const auto kept = [&](const exchange::OpNode& op) {
    return !options.gpu_only || op.device.find("GPU") != std::string::npos;
  };
  std::vector<UndirectedGraph::Edge> edges;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!kept(graph.nodes[i])) continue;
    ++result.kept_ops;
    for (const exchange::OpInput& input : graph.nodes[i].inputs)
      if (kept(graph.nodes[static_cast<std::size_t>(input.node)]))
        edges.push_back({input.node, static_cast<int>(i)});
  }
  if (result.kept_ops == 0)
    fail(ErrorKind::config, "graph '{}': none of its {} ops is {}", graph.name, graph.nodes.size(),
         options.gpu_only ? "on a GPU" : "left");
  const UndirectedGraph all(static_cast<int>(graph.nodes.size()), edges);
  const std::vector<int> vertices = all.largest_component();
  if (vertices.size() < 2)  // isolated ops are dropped
    fail(ErrorKind::config, "graph '{}': no two of its {} ops are connected", graph.name, result.kept_ops);
  const UndirectedGraph connected = all.induced(vertices);
  result.connected_ops = connected.size();
  result.groups = std::min(options.groups, connected.size());
  const std::vector<int> group = fluid_communities(connected, result.groups, options.seed);

  const auto groups = static_cast<std::size_t>(result.groups);
  result.features.assign(groups * LegacyFeatures::kWidth, 0);
  result.adjacency.assign(groups * groups, 0);
  result.group_of_op.assign(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const exchange::OpNode& op = graph.nodes[static_cast<std::size_t>(vertices[i])];
    const auto own = static_cast<std::size_t>(group[i]);
    result.group_of_op[static_cast<std::size_t>(vertices[i])] = group[i];
    double* row = &result.features[own * LegacyFeatures::kWidth];
    row[0] += tensor_size(op);
    row[1] += 1;
    row[2] += frequencies.frequency(op.type);
    if (frequencies.number(op.type) == OpVocabulary::kUnknownOp) ++result.unknown_ops;
    for (const int next : connected.neighbours(static_cast<int>(i)))
      if (const auto other = static_cast<std::size_t>(group[static_cast<std::size_t>(next)]); other != own)
        result.adjacency[own * groups + other] = 1;
  }
  return result;
}

}  // namespace trainyard::predict
