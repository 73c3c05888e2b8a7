#include "predict/gnn/job_graph.h"

#include "predict/graph_features/communities.h"

namespace trainyard::predict {
namespace {

constexpr std::size_t kMostTypes = 32;
constexpr std::int64_t kGroupNumbers = 8, kSumNumbers = 6, kDeviceNumbers = 5;

// Groups the largest connected part. The ops outside of it form one more group.
std::pair<std::vector<int>, int> fluid_groups(const interchange::ExchangeGraph& graph,
                                              const GraphForm& form) {
  std::vector<UndirectedGraph::Edge> edges;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const interchange::OpInput& input : graph.nodes[i].inputs)
      edges.push_back({input.node, static_cast<int>(i)});
  const UndirectedGraph all(static_cast<int>(graph.nodes.size()), edges);
  const std::vector<int> vertices = all.largest_component();
  const int groups = std::min(form.groups, static_cast<int>(vertices.size()));
  const std::vector<int> communities = fluid_communities(all.induced(vertices), groups, form.seed);
  std::vector<int> group(graph.nodes.size(), groups);
  for (std::size_t i = 0; i < vertices.size(); ++i)
    group[static_cast<std::size_t>(vertices[i])] = communities[i];
  return {group, vertices.size() == graph.nodes.size() ? groups : groups + 1};
}

OpFeatures sum_of(const GraphFeatures& features) {
  OpFeatures sum;
  for (const OpFeatures& node : features.nodes) {
    sum.ops += node.ops;
    sum.flops += node.flops;
    sum.elementwise_flops += node.elementwise_flops;
    sum.bytes_moved += node.bytes_moved;
    sum.output_bytes += node.output_bytes;
    sum.parameters += node.parameters;
  }
  return sum;
}

}  // namespace

std::int64_t GraphForm::features() const {
  return kGroupNumbers + static_cast<std::int64_t>(op_types.size()) + 1 + kSumNumbers + kDeviceNumbers;
}

const GraphFeatures& JobGraphs::grouped_graph(const JobDescription& job) {
  const auto key = std::tuple(job.network, job.batch, job.classes, job.optimizer, job.parameters);
  if (const auto at = graphs_.find(key); at != graphs_.end()) return at->second;
  const NamedNetwork network = named_network(job.network);
  const networks::Model model = build_training_step({.network = network.network,
                                                     .batch = job.batch,
                                                     .classes = job.classes,
                                                     .input = network.input,
                                                     .optimizer = job.optimizer,
                                                     .parameters = job.parameters});
  const interchange::ExchangeGraph graph = interchange::from_graph(model.graph, network.network);
  vocabulary_.add(graph);
  const auto [group, groups] = fluid_groups(graph, form_);
  return graphs_.emplace(key, grouped(graph_features(graph, vocabulary_), group, groups)).first->second;
}

void JobGraphs::learn_types(const std::vector<JobDescription>& jobs) {
  for (const JobDescription& job : jobs) grouped_graph(job);
  std::vector<std::string> types;
  for (int number = 1; number < vocabulary_.size(); ++number) types.push_back(vocabulary_.type(number));
  std::stable_sort(types.begin(), types.end(), [&](const std::string& a, const std::string& b) {
    return vocabulary_.count(a) > vocabulary_.count(b);
  });
  if (types.size() > kMostTypes) types.resize(kMostTypes);
  form_.op_types = std::move(types);
}

GraphSample JobGraphs::sample(const JobDescription& job) {
  const GraphFeatures& graph = grouped_graph(job);
  const OpFeatures sum = sum_of(graph);
  GraphSample sample{.name = job.network, .family = job.network};
  sample.nodes = static_cast<std::int64_t>(graph.nodes.size());
  const auto add = [&](auto... numbers) { (sample.features.push_back(static_cast<float>(numbers)), ...); };
  for (const OpFeatures& node : graph.nodes) {
    add(node.ops, node.flops, node.elementwise_flops, node.bytes_moved, node.output_bytes, node.parameters,
        node.inputs, node.outputs);
    std::vector<float> types(form_.op_types.size() + 1);
    for (const auto& [number, count] : node.types) {
      const auto at = std::find(form_.op_types.begin(), form_.op_types.end(), vocabulary_.type(number));
      types[static_cast<std::size_t>(at - form_.op_types.begin())] += static_cast<float>(count);
    }
    sample.features.insert(sample.features.end(), types.begin(), types.end());
    add(sum.ops, sum.flops, sum.elementwise_flops, sum.bytes_moved, sum.output_bytes, sum.parameters);
    add(job.device.flops_per_second, job.device.bytes_per_second, job.device.multiprocessors,
        job.device.memory_bytes, 1e9 * job.device.launch_seconds);
  }
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  for (const FeatureEdge& edge : graph.edges) edges.emplace_back(edge.from, edge.to);
  set_undirected_edges(sample, edges);
  return sample;
}

}  // namespace trainyard::predict
