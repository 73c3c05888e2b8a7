#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "interchange/onnx_import.h"
#include "interchange/test_models.h"

namespace trainyard::interchange {
namespace {

OnnxNetwork import_model(const onnx::Model& model, std::int64_t batch = 1) {
  const std::string file = onnx_file_of(model);
  return import_onnx(onnx::read_model(file, "test"), {.batch = batch}, "test");
}

TEST(OnnxImport, OpenBatchIsTheOneThatIsAskedFor) {
  const OnnxNetwork network = import_model(small_onnx_model("Relu"), 5);
  ASSERT_TRUE(network.obstacles.empty());
  const GraphTotals totals = totals_of(network.exchange);
  EXPECT_EQ(totals.ops, 3);  // what is flattened goes into the dense layer as it is
  EXPECT_EQ(totals.parameters, 4 * 27 + 10 * 144 + 10);
  EXPECT_EQ(totals.flops, 5 * 2 * (4 * 36 * 27 + 10 * 144));
  EXPECT_EQ(network.graph.shape(network.graph.outputs()[0]), (Shape{5, 10}));
  EXPECT_EQ(training_form(network).obstacle, "");
}

TEST(OnnxImport, OpsThatAreNotOursStayInTheExchangeGraph) {
  const OnnxNetwork network = import_model(small_onnx_model("Floor", 2));
  ASSERT_EQ(network.obstacles.size(), 1u);
  EXPECT_EQ(network.obstacles[0].type, "Floor");
  EXPECT_EQ(network.obstacles[0].nodes, 1);
  EXPECT_NE(training_form(network).obstacle, "");
  ASSERT_EQ(network.exchange.nodes.size(), 3u);
  const OpNode &floor = network.exchange.nodes[1], &dense = network.exchange.nodes[2];
  EXPECT_EQ(floor.type, "Floor");
  EXPECT_EQ(floor.outputs[0].dims, (std::vector<std::int64_t>{2, 4, 6, 6}));
  EXPECT_EQ(floor.inputs, (std::vector<OpInput>{{0, 0, false}}));
  // Its shape follows, so that what stands behind it is ours again.
  EXPECT_EQ(dense.type, "dense");
  EXPECT_EQ(dense.inputs, (std::vector<OpInput>{{1, 0, false}}));
  EXPECT_EQ(dense.flops, 2 * 2 * 10 * 144);
}

TEST(OnnxImport, WithoutAShapeNothingBehindItIsOurs) {
  const OnnxNetwork network = import_model(small_onnx_model("SomethingNew", 2));
  EXPECT_EQ(network.obstacles.size(), 3u);
  EXPECT_EQ(network.exchange.nodes.size(), 4u);
  EXPECT_FALSE(network.exchange.nodes[1].outputs[0].elements().has_value());
  EXPECT_EQ(totals_of(network.exchange).parameters, 4 * 27 + 10 * 144 + 10);
}

TEST(OnnxImport, BiasBehindAMatrixProductBelongsToTheLayer) {
  onnx::Model model = small_onnx_model("Relu", 2);
  model.nodes.pop_back();
  model.initializers[1] = float_tensor("v", {144, 10});
  model.nodes.push_back(
      {.name = "product", .type = "MatMul", .domain = "", .inputs = {"f", "v"}, .outputs = {"p"}});
  model.nodes.push_back({.name = "sum", .type = "Add", .domain = "", .inputs = {"b", "p"}, .outputs = {"y"}});
  const OnnxNetwork network = import_model(model);
  ASSERT_TRUE(network.obstacles.empty()) << network.obstacles[0].reason;
  EXPECT_EQ(network.exchange.nodes.back().type, "dense");
  EXPECT_EQ(network.exchange.nodes.back().parameters, 1450);
}

TEST(OnnxImport, WhatDoesNotFitIsAnObstacleWithItsReason) {
  onnx::Model model = small_onnx_model("Relu", 2);
  model.initializers[0] = float_tensor("w", {4, 5, 3, 3});
  const OnnxNetwork network = import_model(model);
  ASSERT_FALSE(network.obstacles.empty());
  EXPECT_EQ(network.obstacles[0].type, "Conv");
  EXPECT_NE(network.obstacles[0].reason.find("4x5x3x3"), std::string::npos) << network.obstacles[0].reason;
}

TEST(OnnxImport, SizesThatNobodyCanCountAreObstacles) {
  onnx::Model model = small_onnx_model("Relu", std::int64_t{1} << 40);
  EXPECT_FALSE(import_model(model).obstacles.empty());
  model = small_onnx_model("Relu", 1 << 22);  // 2^22 * 192 inputs, but 2^22 * 144 results
  EXPECT_TRUE(import_model(model).obstacles.empty());
  model.nodes[0].attributes = {
      {.name = "pads", .kind = onnx::Attribute::Kind::integers, .integers = {60000, 60000, 60000, 60000}}};
  EXPECT_FALSE(import_model(model).obstacles.empty());
}

TEST(OnnxImport, BrokenFilesAreRefusedInOneLine) {
  const std::string file = onnx_file_of(small_onnx_model("Relu"));
  const auto read = [](const std::string& bytes) {
    return [bytes] { import_onnx(onnx::read_model(bytes, "'f.onnx'"), {}, "'f.onnx'"); };
  };
  expect_error(ErrorKind::config, "'f.onnx': no graph in it", read(""));
  expect_error(ErrorKind::config, "broken off", read(file.substr(0, file.size() - 3)));
  expect_error(ErrorKind::config, "'f.onnx': ", read("no such thing"));

  onnx::Model model = small_onnx_model("Relu");
  std::swap(model.nodes[0], model.nodes[1]);
  expect_error(ErrorKind::config, "which nothing before it makes", read(onnx_file_of(model)));
  model = small_onnx_model("Relu");
  model.nodes[1].outputs = {"c"};
  expect_error(ErrorKind::config, "which there is already", read(onnx_file_of(model)));
  model = small_onnx_model("Relu");
  model.initializers[0].dims.assign(40, 1);
  model.initializers[0].content = [] { return std::vector<std::byte>(4); };
  expect_error(ErrorKind::config, "dimensions", read(onnx_file_of(model)));
}

}  // namespace
}  // namespace trainyard::interchange
