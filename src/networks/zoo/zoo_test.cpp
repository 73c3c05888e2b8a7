#include "networks/zoo/zoo.h"

#include <gtest/gtest.h>

#include "graph/autodiff.h"

namespace trainyard::networks {
namespace {

using graph::Graph;
using graph::Role;
using graph::ValueId;

std::vector<std::string> zoo_names() {
  std::vector<std::string> all;
  for (const NetworkInfo& info : all_networks()) all.push_back(info.name);
  return all;
}

Model training_model(const std::string& network, std::int64_t batch) {
  Model model = build_model({.network = network, .batch = batch});
  add_training_step(model, {.rule = ops::Rule::momentum});
  graph::verify(model.graph);
  return model;
}

class EveryNetwork : public testing::TestWithParam<std::string> {};

TEST_P(EveryNetwork, IsTheSameNetworkInEveryBatch) {
  const Model one = training_model(GetParam(), 1), three = training_model(GetParam(), 3);
  EXPECT_EQ(three.graph.shape(three.logits)[0], 3 * one.graph.shape(one.logits)[0]);
  EXPECT_EQ(three.graph.shape(three.logits)[1], one.graph.shape(one.logits)[1]);
  ASSERT_EQ(one.graph.nodes().size(), three.graph.nodes().size());
  for (std::size_t n = 0; n < one.graph.nodes().size(); ++n) {
    ASSERT_EQ(one.graph.nodes()[n].name, three.graph.nodes()[n].name);
    ASSERT_EQ(one.graph.nodes()[n].op, three.graph.nodes()[n].op);
  }
  for (std::size_t v = 0; v < one.graph.values().size(); ++v) {
    const graph::Value& value = one.graph.values()[v];
    if (value.role == Role::intermediate || value.role == Role::input) continue;
    ASSERT_EQ(value.type, three.graph.values()[v].type) << value.name;
  }
}

// The flops of a step are a constant and a share of each sample.
TEST_P(EveryNetwork, CostsAsMuchForEachSample) {
  const auto flops = [](std::int64_t batch) {
    return graph::total_cost(training_model(GetParam(), batch).graph).flops;
  };
  const std::int64_t one = flops(1), two = flops(2), five = flops(5);
  EXPECT_EQ(five - one, 4 * (two - one));
  EXPECT_GT(two, one);
}

TEST_P(EveryNetwork, WeightsStartAtRandomAndHaveOneGradientEach) {
  const Model model = training_model(GetParam(), 2);
  const std::vector<ValueId> parameters = model.graph.values_with(Role::parameter);
  ASSERT_EQ(model.gradients.size(), parameters.size());
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const graph::Value& parameter = model.graph.value(parameters[p]);
    EXPECT_EQ(model.graph.shape(model.gradients[p]), parameter.type.shape) << parameter.name;
    if (parameter.type.shape.rank() < 2) continue;
    EXPECT_NE(parameter.initializer.kind, graph::Initializer::Kind::constant) << parameter.name;
    EXPECT_GT(parameter.initializer.b, 0) << parameter.name;
  }
}

TEST_P(EveryNetwork, OtherClassesChangeTheLastLayerAlone) {
  const NetworkInfo& info = find_network(GetParam());
  if (info.reads_sequences()) return;  // its classes are its vocabulary
  const Model own = build_model({.network = GetParam(), .batch = 1});
  const Model other = build_model({.network = GetParam(), .batch = 1, .classes = info.classes + 3});
  const std::vector<ValueId> parameters = own.graph.values_with(Role::parameter);
  ASSERT_EQ(other.graph.values_with(Role::parameter), parameters);
  for (const ValueId id : parameters) {
    const graph::Value &a = own.graph.value(id), &b = other.graph.value(id);
    ASSERT_EQ(a.name, b.name);
    if (!(a.type == b.type)) {
      EXPECT_EQ(b.type.shape[0] - a.type.shape[0], info.finds_boxes() ? 3 * ops::Anchors::kShapes : 3)
          << a.name;
    }
    EXPECT_EQ(a.type == b.type, a.name.find("logits/") == std::string::npos) << a.name;
  }
}

TEST_P(EveryNetwork, HasAFamilyADescriptionAndOneWayToBuildIt) {
  const NetworkInfo& info = find_network(GetParam());
  EXPECT_FALSE(info.family.empty());
  EXPECT_FALSE(info.description.empty());
  EXPECT_EQ((info.build != nullptr) + (info.generator != nullptr) + (info.detect != nullptr), 1);
  EXPECT_EQ(info.preprocess.empty(), info.reads_sequences()) << info.preprocess;
}

// A network without its loss has its layers alone, and they are what they were.
TEST_P(EveryNetwork, HasNoLossWhereNobodyWantsOne) {
  const Model whole = build_model({.network = GetParam(), .batch = 2, .training = false}),
              bare = build_model({.network = GetParam(), .batch = 2, .training = false, .loss = false});
  EXPECT_EQ(bare.loss, graph::kNone);
  EXPECT_EQ(bare.labels, graph::kNone);
  EXPECT_EQ(bare.graph.values_with(Role::input).size(), 1u);
  const std::vector<ValueId>& outputs = bare.graph.outputs();  // of objects the offsets of boxes, too
  ASSERT_EQ(outputs.size(), find_network(GetParam()).finds_boxes() ? 2u : 1u);
  EXPECT_EQ(outputs.back(), bare.logits);
  EXPECT_EQ(bare.graph.shape(bare.logits), whole.graph.shape(whole.logits));
  for (const graph::Node& node : bare.graph.nodes()) EXPECT_NE(node.op->category, graph::Category::loss);
  EXPECT_EQ(graph::total_cost(bare.graph).flops, graph::total_cost(whole.graph).flops);
  EXPECT_EQ(graph::parameter_count(bare.graph), graph::parameter_count(whole.graph));
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryNetwork, testing::ValuesIn(zoo_names()),
                         [](const auto& row) { return row.param; });

TEST(WeightDecay, AddsWeightsButNoBiasesToTheLossOfTrainingAlone) {
  const auto penalised = [](bool training) {
    const Model model =
        build_model({.network = "lenet", .batch = 1, .training = training, .weight_decay = 1e-3});
    std::vector<std::string> weights;
    for (const graph::Node& node : model.graph.nodes())
      if (node.name == "weight_decay")
        for (const ValueId input : node.inputs) weights.push_back(model.graph.value(input).name);
    return weights;
  };
  EXPECT_TRUE(penalised(false).empty());
  ASSERT_FALSE(penalised(true).empty());
  for (const std::string& name : penalised(true)) EXPECT_EQ(name.find("bias"), std::string::npos) << name;
}

TEST(ZooParameters, AreKnownByTheirNames) {
  EXPECT_TRUE(is_parameter("layers"));
  EXPECT_TRUE(is_parameter("vocabulary"));
  EXPECT_FALSE(is_parameter("batch"));
}

TEST(ZooParameters, GiveAGeneratedNetworkItsInputAndClasses) {
  const NetworkInfo info = find_network("rnn", {{"length", "7"}, {"vocabulary", "11"}});
  EXPECT_EQ(info.input, Shape{7});
  EXPECT_EQ(info.classes, 11);
  EXPECT_EQ(find_network("fc", {{"inputs", "5"}}).input, Shape{5});
}

TEST(Imported, ANetworkOfAnotherSizeOrOtherClassesIsRefused) {
  const auto imported = [](std::int64_t batch, bool training) {
    Graph graph;
    Builder builder(graph, training);
    const ValueId x = graph.add_input("images", {{batch, 4}, DType::f32});
    graph.mark_output(builder.dense("out", x, {.outputs = 3, .activation = ops::Activation::none}));
    return graph;
  };
  const Model model = build_model({.network = "mine", .batch = 2, .imported = imported});
  graph::verify(model.graph);
  EXPECT_EQ(model.graph.value(model.logits).name, "logits:0") << "others find the logits by this name";
  EXPECT_EQ(model.graph.shape(model.logits), (Shape{2, 3}));
  const auto error_of = [&](ModelOptions options) -> std::string {
    options.network = "mine";
    options.batch = 2;
    options.imported = imported;
    try {
      build_model(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of({.classes = 3}), "no error");
  EXPECT_EQ(error_of({.classes = 10}), "classes 10: network 'mine' has 3");
  EXPECT_EQ(error_of({.input = {5}}),
            "network 'mine': reads a batch of 2x4, and the data set has images of 5");
}

}  // namespace
}  // namespace trainyard::networks
