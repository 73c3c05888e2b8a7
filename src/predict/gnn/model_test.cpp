#include "predict/gnn/model.h"

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/test_folder.h"
#include "engine/canonical.h"
#include "engine/executor.h"
#include "plan/compile.h"
#include "predict/gnn/batch.h"
#include "predict/gnn/graph_sample.h"
#include "predict/gnn/network.h"
#include "predict/gnn/test_graphs.h"

namespace trainyard::predict {

namespace {

GnnModel small_gnn() {
  GnnModel model;
  model.architecture = {.features = 2, .hidden = 4, .outputs = 3, .convolution = GraphConvolution::gin};
  model.architecture.convolutions = {Repeats::Rule::root, 3};
  model.scaling = no_scaling(model.architecture);
  model.scaling.label_spread = {0.1f, 1.0f / 3, 1e-30f};
  float number = 0;
  for (const auto& [name, shape] : parameter_shapes(model.architecture)) {
    model.parameters.push_back({name, shape, {}});
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      model.parameters.back().numbers.push_back(number += 0.1f);
  }
  return model;
}

TEST(GnnModelFile, KeepsEverything) {
  const TestFolder folder;
  const GnnModel model = small_gnn();
  save_model(folder.path() / "m", model);
  const GnnModel read = load_model(folder.path() / "m");
  EXPECT_EQ(read.architecture, model.architecture);
  EXPECT_EQ(read.scaling.label_spread, model.scaling.label_spread);
  ASSERT_EQ(read.parameters.size(), model.parameters.size());
  for (std::size_t i = 0; i < read.parameters.size(); ++i)
    EXPECT_EQ(read.parameters[i].numbers, model.parameters[i].numbers);
}

TEST(GnnModelFile, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& part, const std::function<void(ModelFile&)>& change) {
    ModelFile file = to_file(small_gnn());
    change(file);
    expect_error(ErrorKind::config, part, [&] { parse_model(file, "a.model"); });
  };
  refused("kind 'tree'", [](ModelFile& file) { file.schema = "tree"; });
  refused("setting 'features' is missing",
          [](ModelFile& file) { file.settings.erase(file.settings.begin()); });
  refused("wants a whole number", [](ModelFile& file) { file.settings[1].second = "4x"; });
  refused("features 0: wants 1 to", [](ModelFile& file) { file.settings[0].second = "0"; });
  refused("tensor 'conv0/weight' is missing",
          [](ModelFile& file) { file.tensors.erase(file.tensors.begin()); });
  refused("tensor 'conv0/weight' is 3x2, wants 4x2", [](ModelFile& file) { file.tensors[0].shape = {3, 2}; });
  refused("wants 3 numbers", [](ModelFile& file) { file.settings.back().second = "1 2"; });
  refused("spread is not above zero", [](ModelFile& file) { file.settings.back().second = "1 0 1"; });
  refused("wants gcn or gin", [](ModelFile& file) { file.settings[3].second = "gat"; });
  refused("repeats 'often'", [](ModelFile& file) { file.settings[4].second = "often"; });
}

TEST(GnnModelFile, HasTextsAndSinglePrecisionAlone) {
  ModelContainer file = to_container(to_file(small_gnn()));
  file.tensors[0].numbers = std::vector<double>(8, 0);
  expect_error(ErrorKind::config, "'a.model': tensor 'conv0/weight' is of f64, wants f32",
               [&] { parse_model_file(file, "a.model"); });
  file.description = R"({"hidden": 4})";
  expect_error(ErrorKind::config, "'a.model'.hidden: wants a text",
               [&] { parse_model_file(file, "a.model"); });
}

// Returns a model with random weights, as a fit would start with.
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
  for (const GraphConvolution convolution : {GraphConvolution::gcn, GraphConvolution::gin}) {
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

// Padding that no graph uses may hold any value.
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
