#include "networks/builder.h"

#include <numbers>

#include <gtest/gtest.h>

#include "graph/autodiff.h"
#include "networks/blocks.h"
#include "ops/norm.h"

namespace trainyard::networks {
namespace {

using graph::Role;
using graph::ValueId;

class BuilderTest : public testing::Test {
 protected:
  ValueId image(const Shape& shape, const char* name = "x") {
    return graph_.add_input(name, {shape, DType::f32});
  }
  const Shape& shape(ValueId id) const { return graph_.shape(id); }
  const Shape& shape_of(const std::string& name) const {
    const ValueId found = graph_.find(name);
    EXPECT_NE(found, graph::kNone) << name;
    return graph_.shape(found);
  }
  bool has(const std::string& name) const { return graph_.find(name) != graph::kNone; }
  const graph::Initializer& initializer(const std::string& name) const {
    return graph_.value(graph_.find(name)).initializer;
  }

  graph::Graph graph_;
  Builder builder_{graph_, true};
};

TEST_F(BuilderTest, ScopesNestAndEnd) {
  const ValueId x = image({2, 4});
  {
    const auto outer = builder_.scope("a");
    {
      const auto inner = builder_.scope("b");
      builder_.dense("fc", x, {.outputs = 3});
    }
    builder_.dense("fc", x, {.outputs = 3});
  }
  builder_.dense("fc", x, {.outputs = 3});
  for (const char* name : {"a/b/fc/weight", "a/fc/weight", "fc/weight"}) EXPECT_TRUE(has(name)) << name;
}

TEST_F(BuilderTest, WindowsReachFartherWithDilationAndPaddingByNumber) {
  const ValueId x = image({2, 3, 9, 7});
  const auto size = [&](const ConvSpec& spec) {
    const Shape& made = shape(builder_.conv("conv", x, spec));
    return std::pair(made[2], made[3]);
  };
  using Size = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(size({.filters = 4, .kernel = 3, .padding = Padding::valid, .dilation = 2}), Size(5, 3));
  EXPECT_EQ(size({.filters = 4, .kernel = 3, .padding = Padding::centred, .dilation = 3}), Size(9, 7));
  EXPECT_EQ(size({.filters = 4, .kernel = 3, .padding = Padding::same, .dilation = 2}), Size(9, 7));
  EXPECT_EQ(size({.filters = 4, .kernel = 3, .padding = Padding::fixed, .pad = 2}), Size(11, 9));
  EXPECT_EQ(shape(builder_.max_pool("pool", x, {.kernel = 3, .padding = Padding::fixed, .pad = 1})),
            (Shape{2, 3, 5, 4}));
}

TEST_F(BuilderTest, TransposedConvolutionsMakeImagesLarger) {
  const ValueId x = image({2, 3, 5, 4});
  for (const std::int64_t kernel : {1, 2, 3, 5}) {
    const TransposedConvSpec spec{.filters = 6, .kernel = kernel, .stride = 2, .norm = NormSpec{}};
    const std::string name = "up" + std::to_string(kernel);
    const ValueId y = builder_.transposed_conv(name, x, spec);
    EXPECT_EQ(shape(y), (Shape{2, 6, 10, 8}));
    EXPECT_EQ(shape_of(name + "/weight"), (Shape{3, 6, kernel, kernel}));
    EXPECT_TRUE(has(name + "/gamma"));
  }
  EXPECT_EQ(shape(builder_.upsample("pixels", x, 3)), (Shape{2, 3, 15, 12}));
}

TEST_F(BuilderTest, LayersOfOneNameHaveDifferentParametersAndNodes) {
  const ValueId x = image({2, 3, 8, 8});
  ValueId y = x;
  for (int i = 0; i < 3; ++i) y = builder_.conv("conv", y, {.filters = 3, .norm = NormSpec{}});
  std::set<std::string> names;
  for (const graph::Value& value : graph_.values())
    EXPECT_TRUE(names.insert(value.name).second) << value.name;
  for (const graph::Node& node : graph_.nodes()) EXPECT_TRUE(names.insert(node.name).second) << node.name;
  EXPECT_EQ(graph_.values_with(Role::parameter).size(), 9u);
}

struct PaddingCase {
  Padding padding;
  Kernel kernel;
  std::int64_t stride, h, w;
};

class Paddings : public testing::TestWithParam<PaddingCase> {};

TEST_P(Paddings, GiveTheImageThatTheyPromise) {
  const PaddingCase& given = GetParam();
  graph::Graph graph;
  Builder builder(graph, true);
  const ValueId x = graph.add_input("x", {{1, 3, 17, 20}, DType::f32});
  const ValueId y = builder.conv(
      "conv", x, {.filters = 5, .kernel = given.kernel, .stride = given.stride, .padding = given.padding});
  EXPECT_EQ(graph.shape(y), (Shape{1, 5, given.h, given.w}));
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Paddings,
    testing::Values(PaddingCase{Padding::same, 3, 1, 17, 20}, PaddingCase{Padding::same, 3, 2, 9, 10},
                    PaddingCase{Padding::same, {1, 7}, 3, 6, 7}, PaddingCase{Padding::same, 2, 1, 17, 20},
                    PaddingCase{Padding::valid, 3, 1, 15, 18}, PaddingCase{Padding::valid, {7, 1}, 2, 6, 10},
                    PaddingCase{Padding::centred, 7, 2, 9, 10}, PaddingCase{Padding::centred, 1, 2, 9, 10}));

TEST_F(BuilderTest, ANormTakesThePlaceOfTheBias) {
  builder_.conv("plain", image({2, 3, 8, 8}), {.filters = 4});
  builder_.conv("normed", graph_.find("x"), {.filters = 4, .norm = NormSpec{}});
  EXPECT_TRUE(has("plain/bias"));
  EXPECT_FALSE(has("normed/bias"));
  EXPECT_EQ(shape_of("normed/gamma"), Shape{4});
  EXPECT_EQ(graph_.value(graph_.find("normed/running_mean")).role, Role::statistic);
}

TEST_F(BuilderTest, AScaleThatIsNotTrainedIsAStatisticOfOne) {
  builder_.batch_norm("norm", image({2, 3, 8, 8}), {.scale = false});
  EXPECT_EQ(graph_.value(graph_.find("norm/gamma")).role, Role::statistic);
  EXPECT_EQ(initializer("norm/gamma").a, 1);
  EXPECT_EQ(graph_.values_with(Role::parameter).size(), 1u) << "beta";
}

TEST_F(BuilderTest, GroupsShareTheInputChannels) {
  builder_.conv("conv", image({2, 6, 8, 8}), {.filters = 9, .kernel = {3, 5}, .groups = 3});
  EXPECT_EQ(shape_of("conv/weight"), (Shape{9, 2, 3, 5}));
}

TEST_F(BuilderTest, ADenseLayerTakesAnImageAsItIs) {
  const ValueId y = builder_.dense("fc", image({2, 3, 4, 5}), {.outputs = 7});
  EXPECT_EQ(shape_of("fc/weight"), (Shape{7, 3, 4, 5}));
  EXPECT_EQ(shape(y), (Shape{2, 7}));
  // The layer has 60 inputs and a ReLU behind it.
  EXPECT_EQ(initializer("fc/weight").kind, graph::Initializer::Kind::truncated_normal);
  EXPECT_DOUBLE_EQ(initializer("fc/weight").b, std::sqrt(2.0 / 60));
}

TEST_F(BuilderTest, TheLastLayerHasNoActivationAndStartsSmaller) {
  builder_.logits(image({2, 60}), 10);
  EXPECT_EQ(graph_.nodes().size(), 1u);
  EXPECT_DOUBLE_EQ(initializer("logits/weight").b, std::sqrt(1.0 / 60));
}

TEST_F(BuilderTest, PenaltiesNameTheWeightsOfLayersThatAskForOne) {
  const ValueId x = image({2, 4});
  builder_.dense("free", x, {.outputs = 3});
  builder_.dense("bound", x, {.outputs = 3, .l2 = 0.004});
  ASSERT_EQ(builder_.penalties().size(), 1u);
  EXPECT_EQ(builder_.penalties()[0].weight, graph_.find("bound/weight"));
  EXPECT_EQ(builder_.penalties()[0].coefficient, 0.004);
}

TEST(InferenceBuilder, HasNoDropoutAndUsesRunningStatistics) {
  graph::Graph graph;
  Builder builder(graph, false);
  const ValueId x = graph.add_input("x", {{2, 3, 4, 4}, DType::f32});
  EXPECT_EQ(builder.dropout("drop", x, 0.5), x);
  builder.batch_norm("norm", x, {});
  EXPECT_FALSE(graph.nodes().back().attrs<ops::BatchNormAttrs>().training);
}

TEST_F(BuilderTest, ChannelsArePaddedOnEitherSide) {
  const ValueId y = builder_.pad_channels("pad", image({2, 3, 4, 4}), 8);
  EXPECT_EQ(shape(y), (Shape{2, 8, 4, 4}));
  EXPECT_EQ(shape(builder_.pad_channels("none", y, 8)), shape(y));
}

TEST_F(BuilderTest, RecurrentLayersHaveWeightsOfEachGate) {
  const ValueId x = graph_.add_input("steps", {{5, 2, 6}, DType::f32});
  const ValueId y = builder_.recurrent("lstm", x, {.cell = ops::RecurrentCell::lstm, .hidden = 3});
  builder_.recurrent("gru", y, {.cell = ops::RecurrentCell::gru, .hidden = 4});
  EXPECT_EQ(shape(y), (Shape{5, 2, 3}));
  EXPECT_EQ(shape_of("lstm/weight"), (Shape{4 * 3, 6}));
  EXPECT_EQ(shape_of("lstm/recurrent_weight"), (Shape{4 * 3, 3}));
  EXPECT_EQ(shape_of("gru/weight"), (Shape{3 * 4, 3}));
}

// The normal's density and distribution give the deviation of one that is cut at two sigma.
TEST(WeightInit, TheTruncatedDeviationIsThatOfACutNormal) {
  const double density = std::exp(-2.0) / std::sqrt(2 * std::numbers::pi),
               inside = std::erf(2 / std::sqrt(2.0));
  EXPECT_NEAR(kTruncatedDeviation, std::sqrt(1 - 4 * density / inside), 1e-12);
}

TEST(WeightInit, DeviationsFollowFromTheFans) {
  const auto for_fans = [](const WeightInit& init) { return init.for_fans(50, 200); };
  EXPECT_EQ(for_fans(WeightInit::normal(0.1)).b, 0.1);
  EXPECT_DOUBLE_EQ(for_fans(WeightInit::fan_in(2)).b, 0.2);
  EXPECT_DOUBLE_EQ(for_fans(WeightInit::variance_scaling(2)).b * kTruncatedDeviation, 0.2);
  const graph::Initializer xavier = for_fans(WeightInit::xavier_uniform());
  EXPECT_EQ(xavier.kind, graph::Initializer::Kind::uniform);
  EXPECT_DOUBLE_EQ(xavier.b, std::sqrt(6.0 / 250));
  EXPECT_EQ(xavier.a, -xavier.b);
}

TEST_F(BuilderTest, ABasicBlockKeepsItsWidthAndHalvesByItsStride) {
  const ValueId x = image({2, 16, 8, 8});
  EXPECT_EQ(shape(basic_block(builder_, "same", x, {.width = 16})), (Shape{2, 16, 8, 8}));
  EXPECT_EQ(
      shape(basic_block(builder_, "half", x, {.width = 32, .stride = 2, .shortcut = Shortcut::project})),
      (Shape{2, 32, 4, 4}));
}

TEST_F(BuilderTest, APaddedShortcutHasNoParameters) {
  const ValueId x = image({2, 16, 8, 8});
  const auto parameters_of_block = [&](const char* name, Shortcut shortcut) {
    const std::int64_t before = graph::parameter_count(graph_);
    basic_block(builder_, name, x, {.width = 32, .stride = 2, .shortcut = shortcut});
    return graph::parameter_count(graph_) - before;
  };
  const std::int64_t padded = parameters_of_block("padded", Shortcut::pad_channels);
  EXPECT_EQ(parameters_of_block("projected", Shortcut::project) - padded, 16 * 32 + 2 * 32);
}

TEST_F(BuilderTest, ABottleneckGrowsFourTimesWhereverItsStrideIs) {
  const ValueId x = image({2, 16, 8, 8});
  for (const bool first : {false, true})
    EXPECT_EQ(shape(bottleneck_block(
                  builder_, first ? "v1" : "v1_5", x,
                  {.width = 8, .stride = 2, .shortcut = Shortcut::project, .stride_on_first = first})),
              (Shape{2, 32, 4, 4}));
}

TEST_F(BuilderTest, AnInceptionModuleJoinsItsColumnsAndSharesBeginnings) {
  const ValueId x = image({2, 16, 8, 8});
  const ValueId y = inception_module(
      builder_, "mixed", x, {},
      {{conv(4, 1)}, {conv(5, 1), conv(6, 3)}, {shared(), conv(7, 5)}, {max_pool(), conv(8, 1)}});
  EXPECT_EQ(shape(y), (Shape{2, 4 + 6 + 7 + 8, 8, 8}));
  EXPECT_TRUE(has("mixed/column2/conv1/weight"));
  EXPECT_FALSE(has("mixed/column3/conv1/weight")) << "the layer of column 2 serves column 3";
  EXPECT_EQ(shape_of("mixed/column3/conv2/weight"), (Shape{7, 5, 5, 5}));
}

}  // namespace
}  // namespace trainyard::networks
