#include "networks/zoo/fine_tuning.h"

#include "base/test_folder.h"
#include "ops/norm.h"
#include "ops/update.h"

namespace trainyard::networks {
namespace {

std::vector<std::string> names_of(const graph::Graph& graph, const std::vector<graph::ValueId>& values) {
  std::vector<std::string> names;
  for (const graph::ValueId value : values) names.push_back(graph.value(value).name);
  return names;
}

std::vector<std::string> head_names(const ModelOptions& options) {
  const Model model = build_model(options);
  return names_of(model.graph, head_of(model.graph, model.logits));
}

std::size_t count_of(const graph::Graph& graph, graph::Role role) { return graph.values_with(role).size(); }

TEST(FineTuning, PatternsAreNamesWithStarsOrTheirBeginning) {
  for (const char* pattern : {"conv1", "conv1/weight", "conv?", "*", "c*/w*", "*weight", "conv1/*"})
    EXPECT_TRUE(matches(pattern, "conv1/weight")) << pattern;
  for (const char* pattern : {"conv", "conv2", "weight", "conv1/bias", "", "?", "conv1/weight/x"})
    EXPECT_FALSE(matches(pattern, "conv1/weight")) << pattern;
  EXPECT_TRUE(matches("layer1", "layer1.0.conv1.weight"));
  EXPECT_FALSE(matches("layer1", "layer10.conv1.weight"));
  EXPECT_FALSE(matches(std::string(40, '*') + "x", std::string(4000, 'y')));  // soon
}

TEST(FineTuning, TheHeadIsTheLastLayerWithWeights) {
  const std::vector<std::string> logits{"logits/weight", "logits/bias"};
  EXPECT_EQ(head_names({.network = "lenet"}), logits);
  EXPECT_EQ(head_names({.network = "resnet20"}), logits);
  EXPECT_EQ(head_names({.network = "lenet", .training = false, .loss = false}), logits);
  // Its last convolution makes the classes, behind which are a ReLU and a mean.
  for (const std::string& name : head_names({.network = "squeezenet"}))
    EXPECT_NE(name.find('/'), std::string::npos);
  EXPECT_EQ(head_names({.network = "squeezenet"}).size(), 2u);
}

TEST(FineTuning, WhatNoTrainedLayerNeedsIsNotComputed) {
  const auto step_of = [](const std::vector<std::string>& freeze) {
    Model model = build_model({.network = "lenet", .batch = 2, .freeze = freeze});
    add_training_step(model, {.rule = ops::Rule::momentum});
    graph::verify(model.graph);
    return model;
  };
  const Model whole = step_of({}), head = step_of({kAllButHead}), middle = step_of({"conv1", "conv2"});
  EXPECT_EQ(head.gradients.size(), 2u);
  EXPECT_EQ(count_of(head.graph, graph::Role::optimizer_state), 2u);
  EXPECT_EQ(count_of(head.graph, graph::Role::parameter), count_of(whole.graph, graph::Role::parameter));
  EXPECT_LT(head.graph.nodes().size(), middle.graph.nodes().size());
  EXPECT_LT(middle.graph.nodes().size(), whole.graph.nodes().size());
  // Nothing is backward but the gradient of the loss and of the last layer's weights.
  int backward = 0;
  for (const graph::Node& node : head.graph.nodes()) backward += node.phase == graph::Phase::backward ? 1 : 0;
  EXPECT_LE(backward, 3);
}

TEST(FineTuning, BoxesHaveAHeadOfTheirOwn) {
  const Model model = build_model({.network = "retinanet", .freeze = {kAllButHead}});
  std::vector<graph::ValueId> trained = model.graph.values_with(graph::Role::parameter);
  std::erase_if(trained, [&](graph::ValueId parameter) {
    return std::find(model.frozen.begin(), model.frozen.end(), parameter) != model.frozen.end();
  });
  EXPECT_EQ(trained.size(), 4u);  // weight and bias of classes and of offsets
}

TEST(FineTuning, FrozenBatchNormsUseTheirRunningStatistics) {
  const auto norms = [](const std::vector<std::string>& freeze) {
    std::pair<int, int> training_and_not{0, 0};
    Model model = build_model({.network = "resnet20", .batch = 2, .freeze = freeze});
    add_training_step(model, {});
    graph::verify(model.graph);
    for (const graph::Node& node : model.graph.nodes())
      if (node.op == &ops::batch_norm_op && node.phase == graph::Phase::forward)
        ++(node.attrs<ops::BatchNormAttrs>().training ? training_and_not.first : training_and_not.second);
    return training_and_not;
  };
  const auto [all, none] = norms({});
  EXPECT_EQ(none, 0);
  EXPECT_EQ(norms({kAllButHead}), std::pair(0, all));
  // Where gamma goes on learning, so do the statistics.
  EXPECT_EQ(norms({"*beta"}), std::pair(all, 0));
}

TEST(FineTuning, WeightDecayLeavesFrozenWeightsOut) {
  const auto decayed = [](const std::vector<std::string>& freeze) {
    const Model model = build_model({.network = "lenet", .weight_decay = 0.1, .freeze = freeze});
    std::size_t weights = 0;
    for (const graph::Node& node : model.graph.nodes())
      if (node.op == &ops::l2_penalty_op) weights += node.inputs.size();
    return weights;
  };
  EXPECT_GT(decayed({}), 1u);
  EXPECT_EQ(decayed({kAllButHead}), 1u);
}

TEST(FineTuning, PatternsThatAreNobodysAreRefused) {
  const auto build = [](const std::vector<std::string>& freeze) {
    return [freeze] { build_model({.network = "lenet", .freeze = freeze}); };
  };
  expect_error(ErrorKind::usage, "freeze 'conf1' (did you mean 'conv1'?)", build({"conf1"}));
  expect_error(ErrorKind::usage, "nothing is left to train", build({"*"}));
  EXPECT_NO_THROW(build_model({.network = "lenet", .training = false, .freeze = {"conv1"}}));
}

TEST(FineTuning, StartsFromWhatIsGiven) {
  const auto start = std::make_shared<const StartWeights>(
      StartWeights{"file", {{"logits/bias", graph::Initializer::constant(3)}}});
  const Model model = build_model({.network = "lenet", .start = start});
  EXPECT_EQ(model.graph.value(model.graph.find("logits/bias")).initializer.a, 3);
  EXPECT_NE(model.graph.value(model.graph.find("conv1/bias")).initializer.a, 3);
}

}  // namespace
}  // namespace trainyard::networks
