// Single nodes: which ops they become, and what is said of those that do not.

#include <gtest/gtest.h>

#include "graph/op_def.h"
#include "interchange/onnx_import.h"
#include "interchange/test_models.h"

namespace trainyard::interchange {
namespace {

using Attributes = std::vector<onnx::Attribute>;

onnx::Tensor whole_numbers_of(const char* name, std::vector<std::int64_t> values) {
  return small_tensor(name, "i64", {static_cast<std::int64_t>(values.size())}, values);
}

// A node that reads x and the given weights or constants.
struct OneNode {
  std::string type;
  std::vector<std::int64_t> x;
  std::vector<onnx::Tensor> others = {};
  Attributes attributes = {};
  std::int64_t opset = 13;
};

OnnxNetwork import_node(const OneNode& one) {
  onnx::Model model;
  model.producer = "test";
  model.graph_name = "one";
  model.ir_version = 8;
  model.opset = one.opset;
  model.inputs = {{"x", "", {true, one.x, "f32"}}};
  model.outputs = {{"y", "", {}}};
  onnx::Node node{.name = "node",
                  .type = one.type,
                  .domain = "",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = one.attributes};
  for (const onnx::Tensor& other : one.others) {
    node.inputs.push_back(other.name);
    if (!other.name.empty()) model.initializers.push_back(other);
  }
  model.nodes = {node};
  const std::string file = onnx_file_of(model);
  return import_onnx(onnx::read_model(file, "test"), {.batch = 1}, "test");
}

// Returns the names of the ops and the shape of what they make: "reshape repeat add 2x3x4x5".
std::string made_of(const OneNode& one) {
  const OnnxNetwork network = import_node(one);
  if (!network.obstacles.empty()) return network.obstacles[0].reason;
  graph::verify(network.graph);
  std::string text;
  for (const graph::Node& node : network.graph.nodes()) text += std::string(node.op->name) + " ";
  return text + network.graph.shape(network.graph.outputs().at(0)).to_string();
}

TEST(OnnxRules, OperandsAreRepeated) {
  EXPECT_EQ(made_of({"Mul", {2, 3, 4, 5}, {float_tensor("w", {3, 1, 1})}}),
            "reshape repeat multiply 2x3x4x5");
  EXPECT_EQ(made_of({"Add", {1, 4}, {float_tensor("w", {3, 1})}}), "repeat repeat add 3x4");
  EXPECT_EQ(made_of({"Sub", {2, 3}, {float_tensor("w", {2, 3})}}), "scale add 2x3");
  EXPECT_EQ(made_of({"Add", {2, 3}, {float_tensor("c", {}, 2)}}), "pointwise 2x3");
  EXPECT_EQ(made_of({"Mul", {2, 3, 4}, {float_tensor("w", {5, 4})}}), "2x3x4 and 5x4 do not go together");
}

TEST(OnnxRules, ReductionsAreSums) {
  EXPECT_EQ(made_of({"ReduceSum", {2, 3, 4}, {whole_numbers_of("axes", {-1})}}), "sum 2x3x1");
  EXPECT_EQ(
      made_of({"ReduceMean",
               {2, 3, 4},
               {},
               {attribute("axes", std::vector<std::int64_t>{0, 2}), attribute("keepdims", std::int64_t{0})}}),
      "sum scale reshape 3");
  EXPECT_EQ(made_of({"ReduceMean", {2, 3, 4, 5}, {}, {attribute("axes", std::vector<std::int64_t>{2, 3})}}),
            "average_pool 2x3x1x1");
  EXPECT_EQ(made_of({"ReduceSum", {2, 3}, {whole_numbers_of("axes", {2})}}),
            "axis 2 is not one of 2 dimensions");
}

TEST(OnnxRules, PartsAreTakenWithSteps) {
  const auto bounds = [](std::int64_t begin, std::int64_t end, std::int64_t axis, std::int64_t step) {
    return std::vector{whole_numbers_of("begin", {begin}), whole_numbers_of("end", {end}),
                       whole_numbers_of("axis", {axis}), whole_numbers_of("step", {step})};
  };
  EXPECT_EQ(made_of({"Slice", {2, 9}, bounds(1, 100, 1, 2)}), "slice reshape slice reshape 2x4");
  EXPECT_EQ(made_of({"Slice", {2, 9}, bounds(0, 100, 1, 2)}), "pad reshape slice reshape 2x5");
  EXPECT_EQ(made_of({"Slice", {2, 3}, bounds(-1, -100, 1, -1)}), "slice slice slice concat 2x3");
  EXPECT_EQ(made_of({"Slice", {2, 9}, bounds(5, 2, 1, 1)}), "nothing is left of axis 1");
  EXPECT_EQ(
      made_of(
          {"Gather", {2, 4}, {whole_numbers_of("places", {3, 0, 1})}, {attribute("axis", std::int64_t{1})}}),
      "slice slice concat 2x3");
  EXPECT_EQ(
      made_of({"Gather", {2, 4}, {whole_numbers_of("places", {4})}, {attribute("axis", std::int64_t{1})}}),
      "place 4 of 4");
}

TEST(OnnxRules, PadsOfAllModes) {
  const std::vector pads{whole_numbers_of("pads", {0, 1, 0, 2})};
  EXPECT_EQ(made_of({"Pad", {2, 4}, pads}), "pad 2x7");
  EXPECT_EQ(made_of({"Pad", {2, 4}, pads, {attribute("mode", "edge")}}), "slice slice slice concat 2x7");
  EXPECT_EQ(made_of({"Pad", {2, 4}, {pads[0], float_tensor("number", {}, 3)}}),
            "pointwise pad pointwise 2x7");
  EXPECT_EQ(made_of({"Pad", {2, 4}, {whole_numbers_of("pads", {0, -1, 0, -3})}}),
            "nothing is left of axis 1");
  EXPECT_EQ(made_of({"Pad", {2, 2}, pads, {attribute("mode", "reflect")}}),
            "it mirrors more than there is of axis 1");
}

TEST(OnnxRules, ImagesBecomeLarger) {
  const std::vector<onnx::Tensor> doubled{float_tensor("", {}),
                                          small_tensor("scales", "f32", {4}, std::vector<float>{1, 1, 2, 2})};
  const auto mode = [](const char* name, const char* places) {
    return Attributes{attribute("mode", name), attribute("coordinate_transformation_mode", places)};
  };
  EXPECT_EQ(made_of({"Resize", {1, 2, 3, 4}, doubled, mode("nearest", "half_pixel")}), "upsample 1x2x6x8");
  EXPECT_EQ(made_of({"Resize", {1, 2, 3, 4}, doubled, mode("linear", "align_corners")}), "resize 1x2x6x8");
  EXPECT_EQ(made_of({"Resize", {1, 2, 3, 4}, doubled, mode("cubic", "half_pixel")}),
            "mode cubic is not ours");
  EXPECT_EQ(made_of({"Resize", {1, 2, 3, 4}, doubled, mode("linear", "tf_crop_and_resize")}),
            "coordinates tf_crop_and_resize are not ours");
  const auto strides = [](std::int64_t more) {
    return Attributes{attribute("strides", std::vector<std::int64_t>{2, 2}),
                      attribute("output_padding", std::vector{more, more})};
  };
  EXPECT_EQ(made_of({"ConvTranspose",
                     {1, 4, 3, 3},
                     {float_tensor("w", {4, 5, 3, 3}), float_tensor("b", {5})},
                     strides(1)}),
            "conv2d_d_src reshape repeat add 1x5x8x8");
  EXPECT_EQ(made_of({"ConvTranspose", {1, 4, 3, 3}, {float_tensor("w", {4, 5, 3, 3})}, strides(2)}),
            "output padding 2 or size 9 is not ours");
}

// Rows are images of one row.
TEST(OnnxRules, WindowsOfOneDimension) {
  const Attributes window{attribute("kernel_shape", std::vector<std::int64_t>{3}),
                          attribute("strides", std::vector<std::int64_t>{2}),
                          attribute("pads", std::vector<std::int64_t>{1, 0})};
  EXPECT_EQ(made_of({"Conv", {2, 4, 9}, {float_tensor("w", {5, 4, 3})}, window}),
            "reshape conv2d reshape 2x5x4");
  EXPECT_EQ(made_of({"MaxPool", {2, 4, 9}, {}, window}), "reshape max_pool reshape 2x4x4");
  EXPECT_EQ(made_of({"GlobalAveragePool", {2, 4, 9}}), "reshape average_pool reshape 2x4x1");
  EXPECT_EQ(made_of({"MaxPool", {2, 4, 9, 9}, {}, window}),
            "kernel_shape has 1 numbers: only two dimensions are ours");
}

TEST(OnnxRules, RecurrentLayersInBothDirections) {
  const auto layer = [](std::int64_t directions, std::int64_t gates) {
    return std::vector{float_tensor("w", {directions, gates * 4, 3}),
                       float_tensor("u", {directions, gates * 4, 4}),
                       float_tensor("b", {directions, gates * 8})};
  };
  EXPECT_EQ(made_of({"LSTM", {1, 2, 3}, layer(1, 4)}),
            "slice reshape slice reshape add recurrent reshape 1x1x2x4");
  const OnnxNetwork both =
      import_node({"RNN", {5, 2, 3}, layer(2, 1), {attribute("direction", "bidirectional")}});
  ASSERT_TRUE(both.obstacles.empty()) << both.obstacles[0].reason;
  EXPECT_EQ(both.graph.shape(both.graph.outputs()[0]), (Shape{5, 2, 2, 4}));
  EXPECT_NE(made_of({"GRU", {5, 2, 3}, layer(1, 3)}).find("linear_before_reset"), std::string::npos);
  EXPECT_NE(made_of({"LSTM", {5, 2, 3}, layer(2, 4)}).find("wants (T, N, I)"), std::string::npos);
}

// A weight by another name: a matrix is the same parameter, a vector one of its own.
TEST(OnnxRules, AnIdentityOfAWeightIsAName) {
  onnx::Model model = small_onnx_model("Relu", 2);
  model.initializers.push_back(float_tensor("square", {10, 10}));
  const auto node = [](const char* type, std::vector<std::string> inputs, const char* output) {
    return onnx::Node{
        .name = output, .type = type, .domain = "", .inputs = std::move(inputs), .outputs = {output}};
  };
  model.nodes.back().outputs = {"z"};
  model.nodes.insert(model.nodes.begin(),
                     {node("Identity", {"b"}, "other_b"), node("Identity", {"square"}, "other_square")});
  model.nodes.push_back(node("MatMul", {"z", "square"}, "once"));
  model.nodes.push_back(node("Add", {"once", "other_b"}, "biased"));
  model.nodes.push_back(node("MatMul", {"biased", "other_square"}, "y"));
  const std::string file = onnx_file_of(model);
  const OnnxNetwork network = import_onnx(onnx::read_model(file, "test"), {.batch = 2}, "test");
  ASSERT_TRUE(network.obstacles.empty()) << network.obstacles[0].reason;
  EXPECT_NE(network.graph.find("other_b"), graph::kNone);
  EXPECT_EQ(network.graph.find("other_square"), graph::kNone);
  EXPECT_EQ(network.numbers_in_file, 4 * 27 + 10 * 144 + 2 * 10 + 100);
}

TEST(OnnxRules, WhatBecameOfTheNodesIsCounted) {
  const OnnxNetwork one = import_node({"HardSwish", {2, 3}});
  ASSERT_EQ(one.coverage.size(), 1u);
  EXPECT_EQ(one.coverage[0].type, "HardSwish");
  EXPECT_EQ(one.coverage[0].becomes, "pointwise");
  EXPECT_TRUE(one.coverage[0].ours);
  const OnnxNetwork other = import_node({"CumSum", {2, 3}});
  ASSERT_EQ(other.coverage.size(), 1u);
  EXPECT_FALSE(other.coverage[0].ours);
  EXPECT_EQ(other.coverage[0].nodes, 1);
}

}  // namespace
}  // namespace trainyard::interchange
