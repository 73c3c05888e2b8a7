#include "predict/graph_features/graph_features.h"

#include "predict/graph_features/communities.h"

namespace trainyard::predict {

namespace {

// Merges edges of the same direction, counts them at their ends and leaves out loops.
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

GraphFeatures graph_features(const interchange::ExchangeGraph& graph, const OpVocabulary& vocabulary) {
  GraphFeatures features;
  std::vector<FeatureEdge> edges;
  for (const interchange::OpNode& op : graph.nodes) {
    OpFeatures made{.ops = 1,
                    .types = {{vocabulary.number(op.type), 1}},
                    .flops = op.flops,
                    .elementwise_flops = op.elementwise_flops,
                    .bytes_moved = op.bytes_moved,
                    .output_bytes = 0,
                    .parameters = op.parameters};
    for (const interchange::TensorSpec& output : op.outputs) made.output_bytes += output.bytes();
    const int index = static_cast<int>(features.nodes.size());
    features.nodes.push_back(std::move(made));
    for (const interchange::OpInput& input : op.inputs) {
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

namespace {

// Returns the elements of the first output; 0 for a scalar and where they are not known.
double tensor_size(const interchange::OpNode& op) {
  if (op.outputs.empty() || op.outputs[0].dims.empty()) return 0;
  return static_cast<double>(op.outputs[0].elements().value_or(0));
}

}  // namespace

LegacyFeatures legacy_features(const interchange::ExchangeGraph& graph, const OpVocabulary& frequencies,
                               const LegacyOptions& options) {
  LegacyFeatures result;
  const auto kept = [&](const interchange::OpNode& op) {
    return !options.gpu_only || op.device.find("GPU") != std::string::npos;
  };
  std::vector<UndirectedGraph::Edge> edges;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!kept(graph.nodes[i])) continue;
    ++result.kept_ops;
    for (const interchange::OpInput& input : graph.nodes[i].inputs)
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
    const interchange::OpNode& op = graph.nodes[static_cast<std::size_t>(vertices[i])];
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
