#include <gtest/gtest.h>

#include "base/test_folder.h"

#include "graph/autodiff.h"
#include "graph/graph.h"
#include "interchange/interchange_graph.h"
#include "interchange/onnx_export.h"
#include "interchange/onnx_import.h"
#include "interchange/test_models.h"
#include "networks/zoo/zoo.h"

namespace trainyard::interchange {
namespace {

networks::Model training_model(const std::string& network) {
  return networks::build_model({.network = network, .batch = 2});
}

OnnxNetwork read_back(const std::string& file, bool training = true) {
  return import_onnx(onnx::read_model(file, "test"), {.batch = 2, .training = training}, "test");
}

// Returns a line for each node that the logits depend on.
std::vector<std::string> lines_of(const graph::Graph& graph, graph::ValueId logits) {
  std::set<graph::NodeId> needed;
  std::vector<graph::NodeId> todo{graph.value(logits).producer};
  while (!todo.empty()) {
    const graph::NodeId node = todo.back();
    todo.pop_back();
    if (node == graph::kNone || !needed.insert(node).second) continue;
    for (const graph::ValueId input : graph.node(node).inputs) todo.push_back(graph.value(input).producer);
  }
  std::vector<std::string> lines;
  for (const graph::NodeId node : needed) lines.push_back(graph::to_text(graph, node));
  return lines;
}

// Every element says its parameter and its place.
std::vector<std::byte> numbered(const graph::Value& value) {
  std::vector<float> floats(static_cast<std::size_t>(value.type.shape.elements()));
  for (std::size_t i = 0; i < floats.size(); ++i)
    floats[i] = static_cast<float>(value.name.size()) * 1000 + static_cast<float>(i);
  std::vector<std::byte> bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

TEST(OnnxRoundTrip, EveryNetworkComesBackNodeByNode) {
  for (const networks::NetworkInfo& info : networks::all_networks()) {
    SCOPED_TRACE(info.name);
    if (info.finds_boxes() || info.name == "gpt_moe") continue;  // below
    const networks::Model model = training_model(info.name);
    const OnnxNetwork back = read_back(onnx_file_of(model));
    ASSERT_TRUE(back.obstacles.empty()) << back.obstacles[0].type << ": " << back.obstacles[0].reason;
    graph::verify(back.graph);
    ASSERT_EQ(back.graph.outputs().size(), 1u);
    const std::vector<std::string> lines = lines_of(model.graph, model.logits);
    ASSERT_EQ(back.graph.nodes().size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      ASSERT_EQ(graph::to_text(back.graph, static_cast<graph::NodeId>(i)), lines[i]);
    EXPECT_EQ(graph::parameter_count(back.graph), graph::parameter_count(model.graph));
    EXPECT_EQ(graph::total_cost(back.graph).flops,
              graph::total_cost(model.graph, graph::Phase::forward).flops);
    EXPECT_EQ(totals_of(back.exchange).parameters, graph::parameter_count(model.graph));
  }
}

TEST(OnnxRoundTrip, NetworksWithExpertsOrAnchorsAreRefusedByTheNameOfTheOp) {
  for (const char* network : {"gpt_moe", "retinanet"}) {
    const networks::Model model = training_model(network);
    expect_error(ErrorKind::unsupported, "has no form there", [&] { onnx_file_of(model); });
  }
}

TEST(OnnxRoundTrip, AnOpWithoutAFormThereIsRefusedByItsName) {
  networks::DecoderOptions options{.network = "transformer", .batch = 2};
  options.parameters = {{"layers", "1"}, {"width", "8"}, {"heads", "2"}, {"length", "4"}};
  const networks::Decoder decoder = networks::build_decoder(options);
  networks::Model model;
  model.graph = decoder.graph;
  model.logits = decoder.logits;
  expect_error(ErrorKind::unsupported, "op cached_attention of node 'layer1/attention/heads'",
               [&] { onnx_file_of(model); });
}

TEST(OnnxRoundTrip, AWeightThatTwoLayersShareIsOneInitializer) {
  const networks::Model model = training_model("transformer");
  const std::string file = onnx_file_of(model, numbered);
  const onnx::Model read = onnx::read_model(file, "test");
  EXPECT_EQ(read.opset, 17);  // layer norms
  std::int64_t parameters = 0;
  for (const onnx::Tensor& tensor : read.initializers)
    if (tensor.doc == "parameter") parameters += tensor.elements();
  EXPECT_EQ(parameters, graph::parameter_count(model.graph));
}

TEST(OnnxRoundTrip, ExchangeGraphIsThatOfTheGraph) {
  const OnnxNetwork back = read_back(onnx_file_of(training_model("resnet20")));
  const ExchangeGraph direct = from_graph(back.graph, "test");
  ASSERT_EQ(direct.nodes.size(), back.exchange.nodes.size());
  EXPECT_EQ(totals_of(direct), totals_of(back.exchange));
  for (std::size_t i = 0; i < direct.nodes.size(); ++i) {
    EXPECT_EQ(direct.nodes[i].type, back.exchange.nodes[i].type);
    EXPECT_EQ(direct.nodes[i].inputs, back.exchange.nodes[i].inputs);
    EXPECT_EQ(direct.nodes[i].outputs, back.exchange.nodes[i].outputs);
  }
}

TEST(OnnxRoundTrip, TrainingFormCostsWhatTheNetworkCosts) {
  networks::Model model = training_model("lenet");
  const TrainingForm form = training_form(read_back(onnx_file_of(model)));
  networks::add_training_step(model, {});
  EXPECT_EQ(form.obstacle, "");
  EXPECT_EQ(form.flops, graph::total_cost(model.graph).flops);
  EXPECT_EQ(form.saved_bytes, graph::total_bytes_saved(model.graph));
}

TEST(OnnxRoundTrip, InferenceHasNoDropout) {
  const std::string file = onnx_file_of(training_model("deepmnist"));
  const networks::Model inference =
      networks::build_model({.network = "deepmnist", .batch = 2, .training = false});
  const OnnxNetwork back = read_back(file, false);
  EXPECT_EQ(lines_of(back.graph, back.graph.outputs()[0]), lines_of(inference.graph, inference.logits));
}

std::map<std::string, onnx::Tensor> initializers_of(const onnx::Model& model) {
  std::map<std::string, onnx::Tensor> all;
  for (const onnx::Tensor& tensor : model.initializers) all[tensor.name] = tensor;
  return all;
}

TEST(OnnxRoundTrip, WeightsAreWrittenInPlainOrder) {
  const networks::Model model = training_model("resnet20");
  const std::string file = onnx_file_of(model, numbered);
  const onnx::Model read = onnx::read_model(file, "test");
  EXPECT_EQ(read.inputs.size(), 1u);
  const std::map<std::string, onnx::Tensor> initializers = initializers_of(read);
  int compared = 0;
  for (const graph::Value& value : model.graph.values()) {
    if (value.role != graph::Role::parameter && value.role != graph::Role::statistic) continue;
    const auto found = initializers.find(value.name);
    ASSERT_NE(found, initializers.end()) << value.name;
    const std::vector<std::byte> wanted = numbered(value);
    ASSERT_EQ(found->second.raw.size(), wanted.size());
    EXPECT_EQ(std::memcmp(found->second.raw.data(), wanted.data(), wanted.size()), 0) << value.name;
    ++compared;
  }
  EXPECT_GT(compared, 60);
  const OnnxNetwork back = import_onnx(read, {.batch = 2}, "test");
  EXPECT_EQ(graph::parameter_count(back.graph), graph::parameter_count(model.graph));
}

// Ours: i, f, g, o and r, z, n. ONNX: i, o, f, c and z, r, h, with a second bias.
TEST(OnnxRoundTrip, GatesStandInTheOrderOfOnnx) {
  struct Row {
    const char* cell;
    std::vector<float> blocks;
  };
  for (const Row& row : {Row{"lstm", {0, 3, 1, 2}}, Row{"gru", {1, 0, 2}}, Row{"rnn", {0}}}) {
    networks::ModelOptions options{.network = "rnn", .batch = 2};
    options.parameters["cell"] = row.cell;
    options.parameters["hidden"] = "8";
    options.parameters["layers"] = "1";
    const networks::Model model = networks::build_model(options);
    const onnx::Model read = onnx::read_model(onnx_file_of(model, numbered), "test");
    const std::map<std::string, onnx::Tensor> all = initializers_of(read);
    const onnx::Tensor& bias = all.at("cell1/bias");
    const auto gates = static_cast<std::int64_t>(row.blocks.size());
    EXPECT_EQ(bias.dims, (std::vector<std::int64_t>{1, 2 * gates * 8})) << row.cell;
    for (std::size_t i = 0; i < row.blocks.size(); ++i)
      EXPECT_EQ(bias.numbers.at(i * 8), 10000 + row.blocks[i] * 8) << row.cell << i;
    EXPECT_EQ(bias.numbers.at(row.blocks.size() * 8), 0) << row.cell;
  }
}

}  // namespace
}  // namespace trainyard::interchange
