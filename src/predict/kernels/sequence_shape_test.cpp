#include "predict/kernels/layer_sizes.h"

#include <gtest/gtest.h>

#include "networks/zoo/zoo.h"
#include "predict/kernels/kernel_times.h"

namespace trainyard::predict {
namespace {

using Parameters = networks::generator::Given;

std::map<std::string, KernelShape> shapes_of(const char* network, std::int64_t batch,
                                             const Parameters& parameters = {}) {
  networks::Model model =
      networks::build_model({.network = network, .batch = batch, .parameters = parameters});
  networks::add_training_step(model, {});
  const StepShapes step = step_shapes(model.graph, backend::Precision::f32);
  std::map<std::string, KernelShape> by_name;
  for (std::size_t n = 0; n < step.names.size(); ++n) by_name[step.names[n]] = step.shapes[n];
  return by_name;
}

TEST(SequenceShapeTest, TokensAreTheRowsOfProducts) {
  const auto shapes = shapes_of("transformer", 3, {{"length", "32"}, {"width", "64"}, {"vocabulary", "500"}});
  const KernelShape &qkv = shapes.at("layer1/attention/qkv"), &logits = shapes.at("logits");
  EXPECT_EQ(qkv.rows, 96);
  EXPECT_EQ(qkv.columns, 192);
  EXPECT_EQ(qkv.inner, 64);
  EXPECT_EQ(logits.columns, 500);
  EXPECT_EQ(shapes.at("layer1/attention/qkv/d_weight").inner, 96);
}

TEST(SequenceShapeTest, AttentionComputesWholeTiles) {
  const auto flops = [](const char* steps, const char* causal, const char* node = "layer1/attention/heads") {
    return shapes_of("transformer", 2, {{"length", steps}, {"causal", causal}}).at(node).flops;
  };
  EXPECT_EQ(flops("64", "yes"), flops("64", "no"));  // in one tile
  EXPECT_EQ(flops("128", "yes"), 0.75 * flops("128", "no"));
  EXPECT_EQ(flops("256", "no"), 4 * flops("128", "no"));
  EXPECT_GT(flops("64", "yes", "layer1/attention/heads/d_qkv"), 2 * flops("64", "yes"));
}

TEST(SequenceShapeTest, AttentionHasItsPlace) {
  const auto place = [](const Parameters& parameters) {
    ShapePlace of_attention = shapes_of("transformer", 2, parameters).at("layer1/attention/heads").place;
    of_attention[kStepDimension] = 0;
    return of_attention;
  };
  const ShapePlace usual = place({});
  EXPECT_EQ(usual, place({{"vocabulary", "77"}}));
  for (const Parameters& other :
       {Parameters{{"length", "128"}}, Parameters{{"heads", "8"}}, Parameters{{"width", "256"}},
        Parameters{{"causal", "no"}}, Parameters{{"kv_heads", "1"}}})
    EXPECT_NE(usual, place(other)) << other.begin()->first;
}

TEST(SequenceShapeTest, WhatTheStepTouchesIsPartOfThePlace) {
  const auto step = [](const char* node, const char* vocabulary) {
    return shapes_of("transformer", 2, {{"vocabulary", vocabulary}}).at(node).place[kStepDimension];
  };
  EXPECT_GT(step("layer1/norm1", "50000"), step("layer1/norm1", "100"));
  EXPECT_EQ(step("update", "50000"), step("layer1/norm1", "50000"));
}

TEST(SequenceShapeTest, OpsOnRowsHaveTheirRowsAndWidth) {
  const auto place = [](const char* node, const Parameters& parameters = {}) {
    return shapes_of("transformer", 2, parameters).at(node).place;
  };
  const double twice = place("layer1/norm1", {{"length", "128"}})[0] - place("layer1/norm1")[0];
  EXPECT_GT(twice, 0);
  for (const char* node :
       {"positions", "layer1/norm1/d_src", "layer1/feed_forward/unit", "loss", "embedding"})
    EXPECT_NEAR(place(node, {{"length", "128"}})[0] - place(node)[0], twice, 1e-12) << node;
  EXPECT_NE(place("layer1/norm1"), place("layer1/norm1", {{"norm", "rms"}}));
  EXPECT_NE(place("layer1/feed_forward/unit"), place("layer1/feed_forward/unit", {{"activation", "silu"}}));
  EXPECT_NE(place("embedding"), place("embedding", {{"vocabulary", "5000"}}));
}

TEST(SequenceShapeTest, ExpertsShareTheRows) {
  const auto shapes = shapes_of("transformer", 4, {{"experts", "4"}, {"top_k", "2"}, {"ffn", "256"}});
  const KernelShape &in = shapes.at("layer1/feed_forward/in"),
                    &d_weight = shapes.at("layer1/feed_forward/in/d_weight");
  EXPECT_EQ(in.rows, 4 * 64 * 2 / 4);  // of each
  EXPECT_EQ(in.columns, 256);
  EXPECT_EQ(in.inner, 128);
  EXPECT_EQ(d_weight.inner, 4 * 64 * 2 / 4);
  EXPECT_EQ(in.flops, d_weight.flops);
}

TEST(SequenceShapeTest, AnOpThatNobodyMeasuredGoesByKernelsOfItsSize) {
  const Rates rates{.flops_per_second = 1e11, .bytes_per_second = 1e10};
  const KernelShape product{
      .kind = "dense", .op = "dense", .flops = 2e9, .rows = 1e3, .columns = 1e3, .inner = 1e3},
      row{.kind = "add<>", .op = "add", .bytes = 1e6};
  KernelTimes times;
  for (int run = 0; run < 6; ++run) {
    times.add(product, {rates, run, 2 * rates.seconds(product), 1});
    times.add(row, {rates, run, 0.5 * rates.seconds(row), 1});
  }
  const auto ratio = [&](KernelShape shape) {
    shape.op = shape.kind = "never seen";
    const KernelTimes::Estimate made = times.at(shape, rates);
    EXPECT_EQ(made.known, 0);
    return made.seconds / rates.seconds(shape);
  };
  EXPECT_NEAR(ratio(product), 2, 0.01);
  EXPECT_NEAR(ratio(row), 0.5, 0.01);
}

}  // namespace
}  // namespace trainyard::predict
