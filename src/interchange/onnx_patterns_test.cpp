#include "interchange/onnx_patterns.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "interchange/onnx_import.h"
#include "interchange/read_graph.h"
#include "interchange/test_models.h"

namespace trainyard::interchange {
namespace {

networks::Model small_transformer(const char* causal) {
  return networks::build_model({.network = "transformer",
                                .batch = 2,
                                .parameters = {{"layers", "1"},
                                               {"width", "8"},
                                               {"heads", "2"},
                                               {"length", "6"},
                                               {"vocabulary", "11"},
                                               {"causal", causal}}});
}

// Exports a network, and imports it with the numbers of one constant changed.
OnnxNetwork with_changed(const networks::Model& model, const std::string& constant, std::size_t at,
                         float number) {
  std::string file = onnx_file_of(model);
  onnx::Model read = onnx::read_model(file, "test");
  bool found = false;
  for (onnx::Tensor& tensor : read.initializers)
    if (tensor.name.ends_with(constant)) {
      tensor.numbers.at(at) = static_cast<double>(number);
      found = true;
    }
  EXPECT_TRUE(found) << constant;
  return import_onnx(read, {.batch = 2}, "test");
}

std::map<std::string, int> op_names(const graph::Graph& graph) {
  std::map<std::string, int> count;
  for (const graph::Node& node : graph.nodes()) ++count[node.op->name];
  return count;
}

// It stays a sum and a softmax, and is not trained, though the file has it as it has its weights.
TEST(OnnxPatterns, AMaskThatIsNotCausalIsNoAttentionOfOurs) {
  const networks::Model model = small_transformer("yes");
  const float hidden = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(with_changed(model, "causal_mask_6", 0, 0).recognised.at("attention"), 1);
  const OnnxNetwork other = with_changed(model, "causal_mask_6", 6, hidden);
  EXPECT_FALSE(other.recognised.contains("attention"));
  ASSERT_TRUE(other.obstacles.empty()) << other.obstacles[0].reason;
  EXPECT_EQ(op_names(other.graph).at("softmax"), 1);
  const graph::ValueId mask = other.graph.find("causal_mask_6");
  ASSERT_NE(mask, graph::kNone);
  EXPECT_EQ(other.graph.value(mask).role, graph::Role::statistic);
  EXPECT_EQ(training_form(other).obstacle, "");
  EXPECT_FALSE(with_changed(model, "causal_mask_6", 1, -1.0f).recognised.contains("attention"));
}

// Another scale is no attention of ours; products and a softmax stand for it.
TEST(OnnxPatterns, WhatIsNotAttentionIsProductsOfMatrices) {
  const networks::Model model = small_transformer("no");
  const OnnxNetwork same = with_changed(model, "heads/scale", 0, 0.5f);
  EXPECT_EQ(same.recognised.at("attention"), 1);
  const OnnxNetwork other = with_changed(model, "heads/scale", 0, 0.25f);
  EXPECT_FALSE(other.recognised.contains("attention"));
  ASSERT_TRUE(other.obstacles.empty()) << other.obstacles[0].reason;
  graph::verify(other.graph);
  const std::map<std::string, int> ops = op_names(other.graph);
  EXPECT_EQ(ops.at("matmul"), 2);
  EXPECT_EQ(ops.at("softmax"), 1);
  EXPECT_FALSE(ops.contains("attention"));
  EXPECT_EQ(other.graph.shape(other.graph.outputs()[0]), (Shape{12, 11}));
}

TEST(OnnxPatterns, AnotherUnitIsNoGelu) {
  const networks::Model model = small_transformer("yes");
  EXPECT_EQ(with_changed(model, "unit/bend", 0, 0.044715f).recognised.at("gelu"), 1);
  EXPECT_FALSE(with_changed(model, "unit/bend", 0, 0.05f).recognised.contains("gelu"));
  EXPECT_FALSE(with_changed(model, "unit/half", 0, 0.6f).recognised.contains("gelu"));
}

TEST(KnownValues, FollowComputedShapesAndLeaveWeightsAlone) {
  onnx::Model model = small_onnx_model("Relu");
  onnx::Tensor place = small_tensor("place", "i64", {}, std::vector<std::int64_t>{0});
  place.numbers = {0};
  onnx::Tensor rest = small_tensor("rest", "i64", {1}, std::vector<std::int64_t>{-1});
  rest.numbers = {-1};
  onnx::Tensor axis = small_tensor("axis", "i64", {1}, std::vector<std::int64_t>{0});
  axis.numbers = {0};
  model.initializers.insert(model.initializers.end(), {place, rest, axis});
  model.nodes.insert(
      model.nodes.begin() + 2,
      {{.name = "1", .type = "Shape", .domain = "", .inputs = {"m"}, .outputs = {"s"}},
       {.name = "2", .type = "Gather", .domain = "", .inputs = {"s", "place"}, .outputs = {"n"}},
       {.name = "3", .type = "Unsqueeze", .domain = "", .inputs = {"n", "axis"}, .outputs = {"u"}},
       {.name = "4",
        .type = "Concat",
        .domain = "",
        .inputs = {"u", "rest"},
        .outputs = {"dims"},
        .attributes = {attribute("axis", std::int64_t{0})}},
       {.name = "5", .type = "Neg", .domain = "", .inputs = {"w"}, .outputs = {"minus_w"}}});
  model.nodes[7] = {
      .name = "flat", .type = "Reshape", .domain = "", .inputs = {"m", "dims"}, .outputs = {"f"}};
  const KnownValues known(model, 5);
  ASSERT_TRUE(known.is_constant("dims"));
  EXPECT_EQ(*known.numbers("dims"), (std::vector<double>{5, -1}));
  EXPECT_EQ(known.spec("f").dims, (std::vector<std::int64_t>{5, 144}));
  EXPECT_FALSE(known.is_constant("w"));
  EXPECT_FALSE(known.is_constant("minus_w"));
  const OnnxNetwork network = import_onnx(model, {.batch = 5}, "test");
  ASSERT_TRUE(network.obstacles.empty()) << network.obstacles[0].reason;
  EXPECT_EQ(totals_of(network.exchange).ops, 4);  // nothing of the shape is an op; Neg is
}

TEST(KnownValues, FollowWindowsAndNotWhatIsDeclaredForAnotherBatch) {
  onnx::Model model = small_onnx_model("MaxPool");
  model.nodes[1].attributes = {attribute("kernel_shape", std::vector<std::int64_t>{2, 3}),
                               attribute("strides", std::vector<std::int64_t>{2, 1}),
                               attribute("pads", std::vector<std::int64_t>{1, 0, 0, 1})};
  model.values = {{"m", "", {true, {1, 4, 3, 5}, "f32"}}, {"f", "", {true, {1, 60}, "f32"}}};
  const KnownValues known(model, 7);
  EXPECT_EQ(known.spec("c").dims, (std::vector<std::int64_t>{7, 4, 6, 6}));
  EXPECT_EQ(known.spec("m").dims, (std::vector<std::int64_t>{7, 4, 3, 5}));
  EXPECT_EQ(known.spec("f").dims, (std::vector<std::int64_t>{7, 60}));
}

// Inputs of an op that do not fit each other are found without a read outside of them.
TEST(KnownValues, ShapesThatDoNotFitAreUnknown) {
  onnx::Model model = small_onnx_model("Relu");
  onnx::Tensor three = small_tensor("three", "i64", {3}, std::vector<std::int64_t>{1, 2, 3});
  three.numbers = {1, 2, 3};
  onnx::Tensor four = small_tensor("four", "i64", {4}, std::vector<std::int64_t>{0, 9, 1, 1});
  four.numbers = {0, 9, 1, 1};
  model.initializers.insert(model.initializers.end(), {three, four});
  model.nodes = {
      {.name = "a", .type = "Add", .domain = "", .inputs = {"three", "four"}, .outputs = {"sum"}},
      {.name = "b", .type = "Expand", .domain = "", .inputs = {"three", "four"}, .outputs = {"wide"}},
      {.name = "c", .type = "Gather", .domain = "", .inputs = {"three", "four"}, .outputs = {"taken"}},
      {.name = "d", .type = "Split", .domain = "", .inputs = {"three", "four"}, .outputs = {"p", "q"}},
      {.name = "e", .type = "Shape", .domain = "", .inputs = {"nothing"}, .outputs = {"shape"}},
      {.name = "f", .type = "Range", .domain = "", .inputs = {"three", "four", "four"}, .outputs = {"r"}},
      {.name = "g",
       .type = "Transpose",
       .domain = "",
       .inputs = {"three"},
       .outputs = {"t"},
       .attributes = {attribute("perm", std::vector<std::int64_t>{7})}}};
  const KnownValues known(model, 1);
  for (const char* value : {"sum", "wide", "taken", "p", "q", "shape", "r", "t"})
    EXPECT_FALSE(known.is_constant(value)) << value;
}

TEST(OnnxSequences, AFileOfOursIsTrainedAtAnyBatch) {
  const TestFolder folder;
  const auto file = folder.write("own.onnx", onnx_file_of(small_transformer("yes")));
  const auto network = read_trainable(file);
  EXPECT_TRUE(network->info.reads_sequences());
  EXPECT_EQ(network->info.input, Shape{6});
  EXPECT_EQ(network->info.classes, 11);
  const networks::Model model =
      networks::build_model({.network = "own", .batch = 5, .imported = network->build});
  EXPECT_EQ(model.graph.shape(model.tokens), (Shape{7, 5}));
  EXPECT_EQ(model.graph.shape(model.logits), (Shape{30, 11}));
  EXPECT_NE(network->note.find("no weights"), std::string::npos) << network->note;
}

TEST(OnnxSequences, AnOpenNumberOfStepsIsRefused) {
  const TestFolder folder;
  onnx::Model model = small_onnx_model("Relu");
  model.inputs = {{"ids", "", {true, {kUnknown, kUnknown}, "i64"}}};
  model.nodes = {{.name = "look", .type = "Gather", .domain = "", .inputs = {"v", "ids"}, .outputs = {"y"}}};
  const auto file = folder.write("open.onnx", onnx_file_of(model));
  expect_error(ErrorKind::unsupported, "with a number of steps that the file says",
               [&] { read_trainable(file); });
}

}  // namespace
}  // namespace trainyard::interchange
