#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/test_folder.h"
#include "engine/executor.h"
#include "engine/initialise.h"
#include "plan/compile.h"
#include "predict/gnn/batch.h"
#include "predict/gnn/model.h"
#include "predict/gnn/network.h"
#include "predict/gnn/test_graphs.h"
#include "predict/gnn/weights.h"

namespace trainyard::predict {
namespace {

// Weights by chance, as a fit would start with.
GnnModel untrained(const Architecture& architecture) {
  const auto backend = backend::make_backend("auto");
  engine::Executor executor(plan::compile(build_network({.architecture = architecture}).graph, *backend));
  engine::initialise_state(executor, 5);
  return {architecture, no_scaling(architecture), read_weights(executor, architecture)};
}

void expect_equal(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5f * std::max(1.0f, std::fabs(b[i])));
}

TEST(PredictGraphs, MixedBatchEqualsGraphsOneByOne) {
  for (const Convolution convolution : {Convolution::gcn, Convolution::gin}) {
    const GnnModel model =
        untrained({.hidden = 24, .outputs = 5, .convolution = convolution, .leaky_output = false});
    std::vector<GraphSample> graphs;
    for (const std::int64_t nodes : {18, 100, 1, 18, 57})
      graphs.push_back(made_up_graph(nodes, graphs.size()));
    const auto together = predict(model, graphs);
    ASSERT_EQ(together.size(), graphs.size());
    for (std::size_t g = 0; g < graphs.size(); ++g)
      expect_equal(together[g], predict(model, {{graphs[g]}})[0]);
    EXPECT_NE(together[0], together[3]);  // of the same size, but other graphs
  }
}

TEST(PredictGraphs, MoreGraphsThanFitAtOnce) {
  const GnnModel model = untrained({.hidden = 8, .outputs = 2});
  std::vector<GraphSample> graphs;
  for (std::uint64_t g = 0; g < 70; ++g)
    graphs.push_back(made_up_graph(3 + static_cast<std::int64_t>(g % 7), g));
  const auto all = predict(model, graphs);
  ASSERT_EQ(all.size(), 70u);
  expect_equal(all[69], predict(model, {{graphs[69]}})[0]);
  EXPECT_TRUE(predict(model, {}).empty());
}

// What no graph uses may hold anything.
TEST(PredictGraphs, PaddingHasNoInfluence) {
  const Architecture architecture{.hidden = 16, .outputs = 3, .leaky_output = false};
  const GnnModel model = untrained(architecture);
  const GraphSample sample = made_up_graph(9, 1);
  const auto expected = predict(model, {{sample}})[0];
  const auto backend = backend::make_backend("auto");
  engine::Executor executor(plan::compile(
      build_network(
          {.architecture = architecture,
           .capacity = {.graphs = 4, .nodes = 50, .edges = 99, .convolutions = 9, .readout_steps = 20}})
          .graph,
      *backend));
  write_weights(executor, model.parameters);
  for (const float rubbish : {0.0f, 1e30f, std::nanf("")}) {
    for (float& x : executor.host_view<float>(InputNames::kFeatures)) x = rubbish;
    for (std::int32_t& x : executor.host_view<std::int32_t>(InputNames::kNeighbours)) x = 49;
    write_graphs(executor, {{&sample}}, architecture, model.scaling);
    executor.run({});
    const auto made = executor.host_view<float>(kPrediction);
    expect_equal({made.begin(), made.begin() + 3}, expected);
  }
}

TEST(PredictGraphs, RefusesWhatDoesNotFit) {
  const GnnModel model = untrained({.hidden = 8, .outputs = 2});
  const auto refused = [&](const std::string& part, const std::function<void(GraphSample&)>& change) {
    GraphSample sample = made_up_graph(5, 1);
    change(sample);
    expect_error(ErrorKind::config, part, [&] { predict(model, {{sample}}); });
  };
  refused("graph 'graph1': has no nodes", [](GraphSample& sample) { sample.nodes = 0; });
  refused("10 features, wants 3 for each of 5 nodes",
          [](GraphSample& sample) { sample.features.resize(10); });
  refused("not finite", [](GraphSample& sample) { sample.features[3] = std::nanf(""); });
  refused("neighbour 5 is not one of nodes 0 to 4", [](GraphSample& sample) { sample.neighbours[2] = 5; });
  refused("offsets do not divide", [](GraphSample& sample) { sample.offsets[1] = 100; });
  expect_error(ErrorKind::config, "edge 0-7 is not between nodes 0 to 4", [] {
    GraphSample sample = made_up_graph(5, 1);
    set_undirected_edges(sample, {{0, 7}});
  });
}

TEST(RepeatsOfGraphs, RulesOfDriple) {
  EXPECT_EQ(parse_repeats("0.5 nodes").on(100), 50);
  EXPECT_EQ(parse_repeats("0.3333333333333333 nodes").on(9), 3);
  EXPECT_EQ(parse_repeats("4 log2").on(100), 26);
  EXPECT_EQ(parse_repeats("1 log10").on(100), 2);
  EXPECT_EQ(parse_repeats("3 root").on(100), 30);
  EXPECT_EQ(parse_repeats("7").on(100), 7);
  EXPECT_EQ(parse_repeats("1 log10").on(1), 1);  // at least once
  for (const char* text : {"50", "0.5 nodes", "3 root"}) EXPECT_EQ(parse_repeats(text).text(), text);
  for (const char* text : {"", "nodes", "-1", "0", "2 trees", "1nodes", "nan", "1e9"})
    expect_error(ErrorKind::config, "wants a number", [&] { parse_repeats(text); });
}

}  // namespace
}  // namespace trainyard::predict
