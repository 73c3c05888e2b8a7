#include "predict/graph_features/graph_features.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace trainyard::predict {
namespace {

// Joins edges of the same way, counts them at their ends and leaves out loops.
void set_edges(GraphFeatures& features, const std::vector<FeatureEdge>& edges) {
  std::map<std::pair<int, int>, FeatureEdge> joined;
  for (const FeatureEdge& edge : edges) {
    if (edge.from == edge.to) continue;
    const auto [found, is_new] = joined.try_emplace({edge.from, edge.to}, edge);
    if (is_new) continue;
    found->second.bytes += edge.bytes;
    found->second.control = found->second.control && edge.control;
  }
  for (const auto& [ends, edge] : joined) {
    features.edges.push_back(edge);
    ++features.nodes[static_cast<std::size_t>(edge.from)].outputs;
    ++features.nodes[static_cast<std::size_t>(edge.to)].inputs;
  }
}

}  // namespace

GraphFeatures graph_features(const exchange::ExchangeGraph& graph, const OpVocabulary& vocabulary) {
  GraphFeatures features;
  std::vector<FeatureEdge> edges;
  for (const exchange::OpNode& op : graph.nodes) {
    OpFeatures made{.ops = 1,
                    .types = {{vocabulary.number(op.type), 1}},
                    .flops = op.flops,
                    .elementwise_flops = op.elementwise_flops,
                    .bytes_moved = op.bytes_moved,
                    .output_bytes = 0,
                    .parameters = op.parameters};
    for (const exchange::TensorSpec& output : op.outputs) made.output_bytes += output.bytes();
    const int index = static_cast<int>(features.nodes.size());
    features.nodes.push_back(std::move(made));
    for (const exchange::OpInput& input : op.inputs) {
      const auto& outputs = graph.nodes[static_cast<std::size_t>(input.node)].outputs;
      const auto output = static_cast<std::size_t>(input.output);
      const std::int64_t bytes = input.control || output >= outputs.size() ? 0 : outputs[output].bytes();
      edges.push_back({input.node, index, bytes, input.control});
    }
  }
  set_edges(features, edges);
  return features;
}

GraphFeatures grouped(const GraphFeatures& features, const std::vector<int>& group, int groups) {
  TRAINYARD_CHECK(group.size() == features.nodes.size());
  GraphFeatures result;
  result.nodes.resize(static_cast<std::size_t>(groups));
  std::vector<std::map<int, std::int64_t>> types(static_cast<std::size_t>(groups));
  for (std::size_t i = 0; i < group.size(); ++i) {
    const OpFeatures& op = features.nodes[i];
    OpFeatures& sum = result.nodes[static_cast<std::size_t>(group[i])];
    sum.ops += op.ops;
    sum.flops += op.flops;
    sum.elementwise_flops += op.elementwise_flops;
    sum.bytes_moved += op.bytes_moved;
    sum.output_bytes += op.output_bytes;
    sum.parameters += op.parameters;
    for (const auto& [type, count] : op.types) types[static_cast<std::size_t>(group[i])][type] += count;
  }
  for (std::size_t i = 0; i < types.size(); ++i)
    result.nodes[i].types.assign(types[i].begin(), types[i].end());
  std::vector<FeatureEdge> edges = features.edges;
  for (FeatureEdge& edge : edges) {
    edge.from = group[static_cast<std::size_t>(edge.from)];
    edge.to = group[static_cast<std::size_t>(edge.to)];
  }
  set_edges(result, edges);
  return result;
}

}  // namespace trainyard::predict
