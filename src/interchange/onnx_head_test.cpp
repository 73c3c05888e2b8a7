#include "interchange/onnx_head.h"

#include "base/test_folder.h"
#include "interchange/onnx_rules.h"
#include "interchange/read_graph.h"
#include "interchange/test_models.h"
#include "networks/zoo/fine_tuning.h"

namespace trainyard::interchange {
namespace {

std::shared_ptr<const networks::NetworkFile> with_classes(const TestFolder& folder,
                                                          const std::string& content, int classes) {
  return read_trainable(folder.write("net.onnx", content))->with_classes(classes);
}

std::int64_t classes_of(const networks::NetworkFile& file) {
  const graph::Graph graph = file.build(2, true);
  return graph.shape(graph.outputs().front())[1];
}

// Weights of the trunk stay those of the file, the others do not come back.
void expect_head_alone_is_new(const networks::NetworkFile& file) {
  const graph::Graph graph = file.build(1, true);
  const std::vector<graph::ValueId> head = networks::head_of(graph, graph.outputs().front());
  for (const graph::ValueId parameter : graph.values_with(graph::Role::parameter)) {
    const bool is_new = std::find(head.begin(), head.end(), parameter) != head.end();
    EXPECT_EQ(graph.value(parameter).initializer.kind == graph::Initializer::Kind::listed, !is_new)
        << graph.value(parameter).name;
  }
}

TEST(OnnxHead, HasAnotherNumberOfClasses) {
  const TestFolder folder;
  const WeightSource ones = [](const graph::Value& value) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(value.type.bytes()));
    std::fill_n(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float), 1.0f);
    return bytes;
  };
  for (const char* network : {"lenet", "resnet20", "squeezenet"}) {  // a Gemm, and a convolution
    SCOPED_TRACE(network);
    const networks::Model model =
        networks::build_model({.network = network, .training = false, .loss = false});
    const auto file = with_classes(folder, onnx_file_of(model, ones), 7);
    EXPECT_EQ(file->info.classes, 7);
    EXPECT_EQ(classes_of(*file), 7);
    expect_head_alone_is_new(*file);
  }
}

TEST(OnnxHead, OfAProductOfMatricesIsCountedByColumns) {
  const TestFolder folder;
  onnx::Model model = small_onnx_model("Relu");
  model.initializers[1] = float_tensor("v", {144, 10});
  model.nodes.back() = {
      .name = "out", .type = "MatMul", .domain = "", .inputs = {"f", "v"}, .outputs = {"y"}};
  model.initializers.pop_back();
  const auto file = with_classes(folder, onnx_file_of(model), 3);
  EXPECT_EQ(classes_of(*file), 3);
  expect_head_alone_is_new(*file);
}

TEST(OnnxHead, WhatBehindItCountsTheClassesIsRefused) {
  const TestFolder folder;
  onnx::Model model = small_onnx_model("Relu");
  model.initializers.push_back(small_tensor("pairs", "i64", {3}, std::vector<std::int64_t>{-1, 2, 5}));
  model.nodes.back().outputs = {"z"};
  model.nodes.push_back(
      {.name = "fold", .type = "Reshape", .domain = "", .inputs = {"z", "pairs"}, .outputs = {"folded"}});
  model.nodes.push_back(
      {.name = "unfold", .type = "Flatten", .domain = "", .inputs = {"folded"}, .outputs = {"y"}});
  const std::string file = onnx_file_of(model);
  EXPECT_EQ(read_trainable(folder.write("net.onnx", file))->info.classes, 10);
  expect_error(ErrorKind::unsupported, "net.onnx': cannot have 3 classes",
               [&] { with_classes(folder, file, 3); });
}

}  // namespace
}  // namespace trainyard::interchange
