#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "interchange/graph_def.h"
#include "interchange/interchange_graph.h"
#include "interchange/test_models.h"
#include "networks/zoo/zoo.h"
#include "predict/graph_features/communities.h"
#include "predict/graph_features/graph_features.h"

namespace trainyard::predict {
namespace {

interchange::ExchangeGraph step_of(const char* network) {
  networks::Model model = networks::build_model({.network = network, .batch = 2});
  networks::add_training_step(model, {});
  return interchange::from_graph(model.graph, network);
}

OpVocabulary vocabulary_of(const interchange::ExchangeGraph& graph) {
  OpVocabulary vocabulary;
  vocabulary.add(graph);
  return vocabulary;
}

TEST(LegacyFeatures, SumsOverGroupsAreThoseOfTheOps) {
  const interchange::ExchangeGraph graph = step_of("inception3");
  const LegacyFeatures features = legacy_features(graph, vocabulary_of(graph), {.gpu_only = false});
  EXPECT_EQ(features.groups, 100);
  EXPECT_EQ(features.kept_ops, static_cast<std::int64_t>(graph.nodes.size()));
  EXPECT_EQ(features.unknown_ops, 0);
  double sizes = 0, ops = 0, frequencies = 0, wanted_sizes = 0, wanted_frequencies = 0;
  for (int i = 0; i < features.groups; ++i) {
    const double* row = &features.features[static_cast<std::size_t>(i) * LegacyFeatures::kWidth];
    sizes += row[0];
    ops += row[1];
    frequencies += row[2];
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (features.group_of_op[i] < 0) continue;
    const auto& outputs = graph.nodes[i].outputs;
    if (!outputs.empty() && !outputs[0].dims.empty())
      wanted_sizes += static_cast<double>(*outputs[0].elements());
    wanted_frequencies += vocabulary_of(graph).frequency(graph.nodes[i].type);
  }
  EXPECT_EQ(ops, static_cast<double>(features.connected_ops));
  EXPECT_EQ(sizes, wanted_sizes);
  EXPECT_NEAR(frequencies, wanted_frequencies, 1e-9);
}

TEST(LegacyFeatures, AdjacencyIsThatOfTheEdges) {
  const interchange::ExchangeGraph graph = step_of("lenet");
  const LegacyFeatures features =
      legacy_features(graph, vocabulary_of(graph), {.gpu_only = false, .groups = 8});
  ASSERT_EQ(features.groups, 8);
  std::vector<std::uint8_t> wanted(64, 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const interchange::OpInput& input : graph.nodes[i].inputs) {
      const int a = features.group_of_op[i], b = features.group_of_op[static_cast<std::size_t>(input.node)];
      if (a >= 0 && b >= 0 && a != b)
        wanted[static_cast<std::size_t>(8 * a + b)] = wanted[static_cast<std::size_t>(8 * b + a)] = 1;
    }
  EXPECT_EQ(features.adjacency, wanted);
  EXPECT_GT(std::accumulate(wanted.begin(), wanted.end(), 0), 12);  // connected
}

TEST(LegacyFeatures, OpsOfTheGpuOnly) {
  const interchange::ExchangeGraph graph =
      interchange::read_graph_def(interchange::small_graph_def(), "test");
  OpVocabulary frequencies;
  frequencies.add("Conv2D", 3);
  frequencies.add("Relu", 1);
  const LegacyFeatures features = legacy_features(graph, frequencies, {.groups = 1});
  EXPECT_EQ(features.kept_ops, 6);
  EXPECT_EQ(features.connected_ops, 6);
  EXPECT_EQ(features.unknown_ops, 4);
  EXPECT_EQ(features.features, (std::vector<double>{4 * 432 + 2 * 512, 6, 1}));
  interchange::ExchangeGraph host = graph;
  for (interchange::OpNode& op : host.nodes) op.device = "";
  expect_error(ErrorKind::config, "on a GPU", [&] { legacy_features(host, frequencies, {}); });
}

TEST(GraphFeatures, KeepDirectionBytesAndSums) {
  const interchange::ExchangeGraph graph = step_of("resnet20");
  const OpVocabulary vocabulary = vocabulary_of(step_of("lenet"));
  const GraphFeatures features = graph_features(graph, vocabulary);
  const interchange::GraphTotals totals = interchange::totals_of(graph);
  ASSERT_EQ(features.nodes.size(), graph.nodes.size());
  EXPECT_EQ(vocabulary.number("batch_norm"), OpVocabulary::kUnknownOp);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const bool known = vocabulary.count(graph.nodes[i].type) > 0;
    EXPECT_EQ(features.nodes[i].types[0].first != OpVocabulary::kUnknownOp, known);
  }
  for (const FeatureEdge& edge : features.edges) EXPECT_LT(edge.from, edge.to);

  for (const int k : {1, 10, 100}) {
    const GraphFeatures few = grouped(features, topological_segments(graph, k), k);
    OpFeatures sum;
    for (const OpFeatures& group : few.nodes) {
      EXPECT_GT(group.ops, 0);
      sum.ops += group.ops;
      sum.flops += group.flops;
      sum.bytes_moved += group.bytes_moved;
      sum.parameters += group.parameters;
    }
    EXPECT_EQ(sum.ops, totals.ops);
    EXPECT_EQ(sum.flops, totals.flops);
    EXPECT_EQ(sum.bytes_moved, totals.bytes_moved);
    EXPECT_EQ(sum.parameters, totals.parameters);
    for (const FeatureEdge& edge : few.edges) EXPECT_LT(edge.from, edge.to);
    EXPECT_EQ(few.edges.empty(), k == 1);
  }
}

TEST(GraphFeatures, EdgesHaveTheBytesOfTheirTensor) {
  const interchange::ExchangeGraph graph =
      interchange::read_graph_def(interchange::small_graph_def(), "test");
  const GraphFeatures features = graph_features(graph, {});
  const auto edge = [&](int from, int to) {
    for (const FeatureEdge& one : features.edges)
      if (one.from == from && one.to == to) return one;
    return FeatureEdge{-1, -1, -1, false};
  };
  EXPECT_EQ(edge(3, 4).bytes, 512 * 4);  // conv to relu
  EXPECT_EQ(edge(7, 8).bytes, 0);
  EXPECT_TRUE(edge(7, 8).control);
}

TEST(Segments, AreBalancedStretchesOfTheOrder) {
  const interchange::ExchangeGraph graph = step_of("vgg11");
  const std::vector<int> segment = topological_segments(graph, 20);
  std::vector<int> sorted;
  for (const int index : interchange::topological_order(graph))
    sorted.push_back(segment[static_cast<std::size_t>(index)]);
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  EXPECT_EQ(sorted.front(), 0);
  EXPECT_EQ(sorted.back(), 19);
  const auto ops = static_cast<int>(graph.nodes.size());
  expect_error(ErrorKind::config, "wants from 1 to", [&] { topological_segments(graph, ops + 1); });
  const std::vector<int> each = topological_segments(graph, ops);
  EXPECT_EQ(std::set<int>(each.begin(), each.end()).size(), graph.nodes.size());
}

}  // namespace
}  // namespace trainyard::predict
