#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "graph/autodiff.h"
#include "networks/zoo/zoo.h"

namespace trainyard::networks::generator {
namespace {

Model built(const std::string& network, const Given& given) {
  return build_model({.network = network, .batch = 2, .parameters = given});
}

TEST(Transformer, WhatDoesNotFitTogetherIsRefused) {
  const auto refused = [](const Given& given, const char* part) {
    expect_error(ErrorKind::usage, part, [&] { built("transformer", given); });
  };
  refused({{"width", "100"}, {"heads", "3"}}, "heads 3: width 100 is not a whole number for each head");
  refused({{"heads", "4"}, {"kv_heads", "3"}}, "kv_heads 3: does not divide heads 4");
  refused({{"width", "2048"}, {"heads", "4"}},
          "heads of 512 numbers in width 2048, at most 256 are possible");
  refused({{"width", "36"}, {"heads", "4"}, {"positions", "rotary"}}, "heads of 9 numbers");
  refused({{"activation", "swish"}}, "activation swish");
  refused({{"experts", "4"}, {"top_k", "5"}}, "top_k 5: above experts 4");
  refused({{"top_k", "2"}}, "top_k 2: above experts 0");
  refused({{"experts", "1025"}}, "experts 1025: network 'transformer' takes a whole number from 0 to 1024");
  refused({{"experts", "4"}, {"balance", "-1"}}, "balance -1: network 'transformer' takes a number from 0");
  refused({{"experts", "1024"},
           {"width", "65536"},
           {"heads", "256"},
           {"ffn", "262144"},
           {"layers", "4096"},
           {"activation", "swiglu"}},
          "in these sizes has more than 9.2e+18 operations or bytes");
  expect_error(ErrorKind::usage, "patch 5: does not divide image 32", [] { built("vit", {{"patch", "5"}}); });
}

TEST(Transformer, SharedWeightIsOneParameterWithOneGradient) {
  const Given small{{"layers", "1"}, {"width", "16"}, {"heads", "2"}, {"vocabulary", "50"}, {"length", "8"}};
  Given untied = small;
  untied["tied"] = "no";
  Model one = built("transformer", small), two = built("transformer", untied);
  EXPECT_EQ(graph::parameter_count(two.graph) - graph::parameter_count(one.graph), 50 * 16);
  add_training_step(one, {});
  graph::verify(one.graph);
  EXPECT_EQ(one.gradients.size(), one.graph.values_with(graph::Role::parameter).size());
}

TEST(Transformer, WhatSeesBehindIsAskedForMaskedTokens) {
  const Given small{{"causal", "no"}, {"vocabulary", "50"}, {"length", "8"}};
  const Model masked = built("transformer", small), next = built("transformer", {{"length", "8"}});
  EXPECT_EQ(masked.graph.shape(masked.tokens), (Shape{16, 2}));
  EXPECT_EQ(next.graph.shape(next.tokens), (Shape{9, 2}));
  EXPECT_EQ(masked.graph.shape(masked.labels), (Shape{8, 2}));
  EXPECT_TRUE(find_network("transformer", small).masked);
  EXPECT_FALSE(find_network("transformer").masked);
  EXPECT_TRUE(find_network("bert_base").masked);
  EXPECT_FALSE(find_network("bert_base", {{"causal", "yes"}}).masked);
  expect_error(ErrorKind::usage, "causal no: a network that sees the steps behind makes no text",
               [] { build_decoder({.network = "bert_base"}); });
}

TEST(Transformer, NormsStandBehindTheSumsOfEncoders) {
  const auto norms_of = [](const char* place, const char* head) {
    const Model model = built("transformer", {{"layers", "1"}, {"norm_place", place}, {"head", head}});
    std::map<std::string, std::string> read;  // by each norm
    for (const graph::Node& node : model.graph.nodes())
      if (std::string_view(node.op->name) == "layer_norm")
        read[node.name] = model.graph.value(node.inputs[0]).name;
    return read;
  };
  EXPECT_EQ(
      norms_of("pre", "linear"),
      (std::map<std::string, std::string>{
          {"layer1/norm1", "positions:0"}, {"layer1/norm2", "layer1/attended:0"}, {"norm", "layer1/out:0"}}));
  EXPECT_EQ(norms_of("post", "transform"),
            (std::map<std::string, std::string>{{"embedding_norm", "positions:0"},
                                                {"layer1/norm1", "layer1/attended:0"},
                                                {"layer1/norm2", "layer1/out:0"},
                                                {"transform/norm", "transform/unit:0"}}));
}

TEST(Transformer, KeysAndValuesAreSharedByHeads) {
  const Model model = built("transformer", {{"kv_heads", "2"}});
  const graph::ValueId weight = model.graph.find("layer1/attention/qkv/weight");
  ASSERT_NE(weight, graph::kNone);
  EXPECT_EQ(model.graph.shape(weight), (Shape{128 + 2 * 2 * 32, 128}));
}

const graph::Node* node_named(const Model& model, const std::string& name) {
  for (const graph::Node& node : model.graph.nodes())
    if (node.name == name) return &node;
  return nullptr;
}

TEST(Transformer, OneExpertIsADenseLayer) {
  const Model none = built("transformer", {}), one = built("transformer", {{"experts", "1"}, {"top_k", "1"}});
  EXPECT_EQ(graph::to_text(none.graph), graph::to_text(one.graph));
}

TEST(Transformer, ExpertsAreARouterAndWeightsOfEach) {
  const Model model = built("transformer", {{"experts", "6"}});
  const auto shape_of = [&](const char* name) { return model.graph.shape(model.graph.find(name)); };
  EXPECT_EQ(shape_of("layer4/feed_forward/router/weight"), (Shape{6, 128}));
  EXPECT_EQ(model.graph.find("layer4/feed_forward/router/bias"), graph::kNone);
  EXPECT_EQ(shape_of("layer4/feed_forward/in/weight"), (Shape{6, 512, 128}));
  EXPECT_EQ(shape_of("layer4/feed_forward/in/bias"), Shape{6 * 512});
  EXPECT_EQ(shape_of("layer4/feed_forward/out/weight"), (Shape{6, 128, 512}));
  EXPECT_EQ(shape_of("layer4/feed_forward/dispatch:0"), (Shape{2 * 64 * 2, 128}));
}

// The work is that of the chosen experts alone, however many there are.
TEST(Transformer, WorkGrowsWithTheChoicesNotWithTheExperts) {
  const auto flops = [](const Given& given) {
    return graph::total_cost(built("transformer", given).graph, graph::Phase::forward).flops;
  };
  const std::int64_t dense = flops({}), rows = 2 * 64, router = std::int64_t{2} * rows * 128 * 4,
                     feed_forward = 2 * 2 * rows * 128 * 512 * 4;
  EXPECT_EQ(flops({{"experts", "4"}, {"top_k", "1"}}), dense + 4 * router);
  EXPECT_EQ(flops({{"experts", "8"}, {"top_k", "1"}}), dense + 8 * router);
  EXPECT_EQ(flops({{"experts", "8"}, {"top_k", "3"}}), dense + 8 * router + 2 * feed_forward);
}

TEST(Transformer, ThePenaltyOnTheUseOfExpertsIsPartOfTheLossInTraining) {
  const Given given{{"experts", "4"}, {"balance", "0.3"}};
  const Model training = built("transformer", given);
  const graph::Node* penalty = node_named(training, "balance");
  ASSERT_NE(penalty, nullptr);
  EXPECT_EQ(penalty->inputs.size(), 2u * 4);
  EXPECT_EQ(penalty->attrs<ops::BalanceAttrs>().coefficient, 0.3);
  const graph::Node& loss = training.graph.node(training.graph.value(training.loss).producer);
  EXPECT_NE(std::find(loss.inputs.begin(), loss.inputs.end(), penalty->outputs[0]), loss.inputs.end());
  EXPECT_EQ(node_named(built("transformer", {{"experts", "4"}, {"balance", "0"}}), "balance"), nullptr);
  const Model inference =
      build_model({.network = "transformer", .batch = 2, .parameters = given, .training = false});
  EXPECT_EQ(node_named(inference, "balance"), nullptr);
}

}  // namespace
}  // namespace trainyard::networks::generator
