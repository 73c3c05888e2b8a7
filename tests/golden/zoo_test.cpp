#include <gtest/gtest.h>

#include <set>

#include "graph/autodiff.h"
#include "graph/graph.h"
#include "networks/zoo/zoo.h"

namespace trainyard::networks {
namespace {

using graph::Role;

std::vector<std::string> described(const graph::Graph& graph, Role role) {
  std::vector<std::string> all;
  for (const graph::ValueId id : graph.values_with(role))
    all.push_back(graph.value(id).name + " " + graph.value(id).type.to_string());
  return all;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const NetworkInfo& info : all_networks()) all.push_back(info.name);
  return all;
}

TEST(Zoo, HoldsTheseNetworks) {
  const auto all = names();
  const std::set<std::string> expected{"deepmnist",
                                       "cifarnet",
                                       "lenet",
                                       "trivial",
                                       "alexnet_v2",
                                       "overfeat",
                                       "vgg11",
                                       "vgg16",
                                       "vgg19",
                                       "googlenet",
                                       "inception3",
                                       "inception4",
                                       "inception_resnet_v2",
                                       "resnet18",
                                       "resnet34",
                                       "resnet50",
                                       "resnet101",
                                       "resnet152",
                                       "resnet20",
                                       "resnet32",
                                       "resnet44",
                                       "resnet56",
                                       "resnet110",
                                       "retinanet",
                                       "densenet40_k12",
                                       "densenet100_k12",
                                       "densenet100_k24",
                                       "densenet121",
                                       "squeezenet",
                                       "mobilenet_v1",
                                       "cnn",
                                       "mix",
                                       "rnn",
                                       "transformer",
                                       "gpt_char",
                                       "gpt_moe",
                                       "gpt2",
                                       "gpt2_medium",
                                       "gpt2_large",
                                       "gpt2_xl",
                                       "tiny_llama",
                                       "bert_base",
                                       "vit",
                                       "vit_s16",
                                       "vit_b16",
                                       "fc"};
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()), expected);
  EXPECT_EQ(all.size(), expected.size());
}

class ZooTest : public testing::TestWithParam<std::string> {};

TEST_P(ZooTest, TrainsAndInfersWithTheSameState) {
  Model training = build_model({.network = GetParam(), .batch = 2, .weight_decay = 1e-4});
  add_training_step(training, {.rule = ops::Rule::adam, .schedule = {}, .ema_decay = 0.999});
  graph::verify(training.graph);
  const Model inference = build_model({.network = GetParam(), .batch = 2, .training = false});
  graph::verify(inference.graph);

  const auto parameters = described(training.graph, Role::parameter);
  EXPECT_EQ(parameters, described(inference.graph, Role::parameter));
  EXPECT_EQ(described(training.graph, Role::statistic), described(inference.graph, Role::statistic));
  EXPECT_EQ(training.gradients.size(), parameters.size());
  EXPECT_EQ(training.shadow_weights.size(), parameters.size());
  // A repeated name would get a number, a colon would clash with outputs and optimizer slots.
  for (const std::string& parameter : parameters) {
    EXPECT_EQ(parameter.find(':'), std::string::npos) << parameter;
    EXPECT_EQ(parameter.find("weight_"), std::string::npos) << parameter;
  }
  for (const Model* model : std::initializer_list<const Model*>{&training, &inference}) {
    const NetworkInfo& info = find_network(GetParam());
    const std::int64_t anchors = 9 * (80 * 80 + 40 * 40 + 20 * 20 + 10 * 10 + 5 * 5),
                       rows = 2 * (info.reads_sequences() ? info.input[0]
                                   : info.finds_boxes()   ? anchors
                                                          : 1);
    EXPECT_EQ(model->graph.shape(model->logits), (Shape{rows, info.classes}));
    EXPECT_EQ(model->graph.shape(model->loss), Shape{});
    EXPECT_EQ(model->graph.value(model->loss).name, "loss:0");
    EXPECT_EQ(model->graph.value(model->logits).name, "logits:0");
    std::vector<graph::ValueId> outputs{model->loss};
    if (info.finds_boxes() && !model->training) outputs.push_back(model->anchor_labels);
    if (!model->training || !(info.reads_sequences() || info.finds_boxes())) outputs.push_back(model->logits);
    EXPECT_EQ(model->graph.outputs(), outputs);
    EXPECT_EQ(model->graph.find("images"), model->images);
    if (info.reads_sequences()) {
      EXPECT_EQ(model->graph.find("tokens"), model->tokens);
      EXPECT_EQ(model->graph.find("lengths"), model->lengths);
    } else {
      EXPECT_EQ(model->graph.find("labels"), model->labels);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ZooTest, testing::ValuesIn(names()), [](const auto& row) { return row.param; });

struct Failure {
  ErrorKind kind;
  std::string message;
};

Failure failure_of(const ModelOptions& options) {
  try {
    build_model(options);
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {ErrorKind::internal, "nothing was refused"};
}

TEST(ZooErrors, UnknownNetworkSuggestsTheNearest) {
  const Failure close = failure_of({.network = "resnt50"});
  EXPECT_EQ(close.kind, ErrorKind::usage);
  EXPECT_EQ(close.message,
            "unknown network 'resnt50' (did you mean 'resnet50'?); `trainyard networks` lists them");
  EXPECT_EQ(failure_of({.network = "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"}).message,
            "unknown network 'qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq'; `trainyard networks` lists them");
}

TEST(ZooErrors, NumbersOutOfRange) {
  const Failure batch = failure_of({.network = "lenet", .batch = 0});
  EXPECT_EQ(batch.kind, ErrorKind::usage);
  EXPECT_EQ(batch.message, "batch 0: must be at least 1");
  EXPECT_EQ(failure_of({.network = "lenet", .classes = -1}).message,
            "classes -1: must be at least 1, or 0 for the network's own");
  EXPECT_EQ(failure_of({.network = "lenet", .label_smoothing = 1}).message,
            "label smoothing 1: must be at least 0 and below 1");
  EXPECT_EQ(failure_of({.network = "lenet", .parameters = {{"layers", "3"}}}).message,
            "layers 3: network 'lenet' has sizes of its own");
}

TEST(ZooSizes, FullyConnectedStackIsAsDeepAndWideAsAsked) {
  const Model model = build_model({.network = "fc",
                                   .batch = 2,
                                   .classes = 7,
                                   .parameters = {{"layers", "2"}, {"width", "11"}, {"inputs", "5"}}});
  EXPECT_EQ(graph::parameter_count(model.graph), (5 + 1) * 11 + (11 + 1) * 11 + (11 + 1) * 7);
  // A data set's input is stronger than the parameter.
  const Model one = build_model({.network = "fc",
                                 .batch = 2,
                                 .classes = 7,
                                 .input = {3},
                                 .parameters = {{"layers", "1"}, {"width", "11"}, {"inputs", "5"}}});
  EXPECT_EQ(graph::parameter_count(one.graph), (3 + 1) * 11 + (11 + 1) * 7);
}

TEST(ZooErrors, InputsThatDoNotFitNameTheLayer) {
  const Failure small = failure_of({.network = "vgg16", .batch = 2, .input = {3, 16, 16}});
  EXPECT_EQ(small.kind, ErrorKind::shape);
  EXPECT_EQ(small.message, "max_pool 'pool5': window 2x2 stride 2 is larger than its padded input 2x512x1x1");
  EXPECT_EQ(failure_of({.network = "deepmnist", .input = {784}}).message,
            "conv2d 'conv1': input 0 'images' is 1x784, wants 4 dimensions");
  EXPECT_EQ(failure_of({.network = "fc", .input = {0}}).message,
            "input 'images': shape 1x0 has a dimension below 1");
}

TEST(ZooErrors, LayersThatDoNotFitNameBothShapes) {
  graph::Graph graph;
  Builder builder(graph, true);
  const graph::ValueId x = graph.add_input("x", {{2, 8, 5, 5}});
  const graph::ValueId halved = builder.average_pool("half", x, {});
  try {
    const auto scope = builder.scope("block");
    builder.concat("join", {x, halved});
    FAIL() << "joined 5x5 and 2x2";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::shape);
    EXPECT_STREQ(error.what(),
                 "concat 'block/join': input 1 'half:0' is 2x8x2x2, wants 2x8x5x5 but for axis 1");
  }
  try {
    builder.conv("grouped", x, {.filters = 6, .groups = 4});
    FAIL() << "split 6 filters into 4 groups";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "conv2d 'grouped': groups 4 does not divide output channels 6");
  }
}

}  // namespace
}  // namespace trainyard::networks
