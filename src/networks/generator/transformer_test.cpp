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

TEST(Transformer, KeysAndValuesAreSharedByHeads) {
  const Model model = built("transformer", {{"kv_heads", "2"}});
  const graph::ValueId weight = model.graph.find("layer1/attention/qkv/weight");
  ASSERT_NE(weight, graph::kNone);
  EXPECT_EQ(model.graph.shape(weight), (Shape{128 + 2 * 2 * 32, 128}));
}

}  // namespace
}  // namespace trainyard::networks::generator
