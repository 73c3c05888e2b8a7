#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "interchange/interchange_graph.h"
#include "networks/zoo/zoo.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/shape.h"
#include "predict/graph_features/op_vocabulary.h"

namespace trainyard::networks {
namespace {

using Counts = std::map<std::string, std::int64_t>;

// These are the ops in the TensorFlow graphs of the twelve networks, each with plain SGD and with Adam.
const Counts kExpected{{"Conv2D", 1306},
                       {"Conv2DBackpropFilter", 1306},
                       {"FusedBatchNormV3", 1114},
                       {"FusedBatchNormGradV3", 1114},
                       {"Relu", 1310},
                       {"ReluGrad", 1310},
                       {"BiasAdd", 506},
                       {"BiasAddGrad", 506},
                       {"MaxPool", 82},
                       {"MaxPoolGrad", 82},
                       {"AvgPool", 60},
                       {"AvgPoolGrad", 60},
                       {"MatMul", 114},
                       {"ConcatOffset", 342},
                       {"RandomUniform", 14},
                       {"SparseSoftmaxCrossEntropyWithLogits", 24},
                       {"ApplyGradientDescent", 1796},
                       {"ApplyAdam", 1796}};

constexpr const char* kTwelve[] = {"vgg11",      "vgg16",          "vgg19",           "googlenet",
                                   "lenet",      "densenet40_k12", "densenet100_k12", "inception3",
                                   "inception4", "resnet20",       "resnet50",        "resnet101"};

// Adds what TensorFlow would call the node. A mean over the whole image is "Mean" there, not a pool.
void count(const graph::Node& node, Counts& counts) {
  const std::map<const graph::OpDef*, const char*> names{
      {&ops::conv2d_op, "Conv2D"},
      {&ops::conv2d_d_weight_op, "Conv2DBackpropFilter"},
      {&ops::batch_norm_op, "FusedBatchNormV3"},
      {&ops::batch_norm_grad_op, "FusedBatchNormGradV3"},
      {&ops::activation_op, "Relu"},
      {&ops::activation_grad_op, "ReluGrad"},
      {&ops::max_pool_op, "MaxPool"},
      {&ops::max_pool_d_src_op, "MaxPoolGrad"},
      {&ops::average_pool_op, "AvgPool"},
      {&ops::average_pool_d_src_op, "AvgPoolGrad"},
      {&ops::dense_op, "MatMul"},
      {&ops::dense_d_weight_op, "MatMul"},
      {&ops::dense_d_src_op, "MatMul"},
      {&ops::concat_op, "ConcatOffset"},
      {&ops::dropout_op, "RandomUniform"},
      {&ops::softmax_cross_entropy_op, "SparseSoftmaxCrossEntropyWithLogits"}};
  const auto found = names.find(node.op);
  if (found == names.end() || node.name.find("spatial_mean") != std::string::npos) return;
  if (node.op == &ops::dropout_op && node.phase == graph::Phase::backward) return;  // the mask is saved there
  ++counts[found->second];
  if ((node.op == &ops::conv2d_op || node.op == &ops::dense_op) && node.inputs.size() == 3)
    ++counts["BiasAdd"];
  if ((node.op == &ops::conv2d_d_weight_op || node.op == &ops::dense_d_weight_op) && node.outputs.size() == 2)
    ++counts["BiasAddGrad"];
}

Counts count_all() {
  Counts counts;
  for (const char* network : kTwelve)
    for (const ops::Rule rule : {ops::Rule::sgd, ops::Rule::adam}) {
      Model model = build_model({.network = network, .batch = 2, .classes = 1001});
      add_training_step(model, {.rule = rule, .schedule = {}});
      for (const graph::Node& node : model.graph.nodes()) count(node, counts);
      counts[rule == ops::Rule::sgd ? "ApplyGradientDescent" : "ApplyAdam"] +=
          static_cast<std::int64_t>(model.gradients.size());
    }
  return counts;
}

TEST(OpCounts, EqualThoseOfTheTensorflowGraphs) { EXPECT_EQ(count_all(), kExpected); }

std::filesystem::path shared_data() {
  const char* given = std::getenv("TRAINYARD_SHARED_DATA");
  return given != nullptr ? given : "../shared/data";
}

// The published files hold shares of all ops; they resolve to whole numbers, which nobody has to say.
predict::OpVocabulary published(const char* name) {
  const auto path = shared_data() / "gpualloc" / name;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? predict::OpVocabulary::from_csv(text.str(), path.string()) : predict::OpVocabulary();
}

TEST(OpCounts, EqualThoseOfThePublishedFile) {
  const predict::OpVocabulary counts = published("node-frequency-old.csv");
  if (counts.total() == 0) GTEST_SKIP() << shared_data() << " is not here";
  EXPECT_EQ(counts.total(), 117'816);
  EXPECT_EQ(counts.size() - 1, 67);
  for (const auto& [op, expected] : kExpected) EXPECT_EQ(counts.count(op), expected) << op;
  EXPECT_EQ(counts.count("VariableV2"), 9460);
  EXPECT_EQ(counts.count("Assign"), 18'920);
  EXPECT_EQ(counts.count("Const"), 20'565);
}

// The second file includes the generative networks.
TEST(OpCounts, SecondPublishedFileIsWholeNumbersToo) {
  const predict::OpVocabulary counts = published("node-frequency.csv");
  if (counts.total() == 0) GTEST_SKIP() << shared_data() << " is not here";
  EXPECT_EQ(counts.total(), 118'082);
  EXPECT_EQ(counts.size() - 1, 76);
}

// A padding that TensorFlow's convolution has no word for is an op of its own there.
bool is_padded_apart(const graph::Graph& graph, const graph::Node& node) {
  const ops::Window2d& window = node.attrs<ops::Conv2dAttrs>().window;
  const Shape& image = graph.shape(node.inputs[0]);
  const ops::Window2d same = with_same_padding(window, image[2], image[3]);
  return window.pad_top > 0 && (window.pad_top != same.pad_top || window.pad_bottom != same.pad_bottom);
}

// tf_cnn_benchmarks defines these counts; they are half of those of the graphs with two optimizers.
TEST(OpCounts, ForwardOpsOfTheTwelveNetworks) {
  Counts counts;
  for (const char* network : kTwelve) {
    const Model model = build_model({.network = network, .batch = 2, .classes = 1001});
    for (const graph::Node& node : model.graph.nodes()) {
      if ((node.op == &ops::conv2d_op || node.op == &ops::dense_op) && node.inputs.size() == 3)
        ++counts["bias"];
      if (node.op == &ops::conv2d_op && is_padded_apart(model.graph, node)) ++counts["pad"];
    }
    for (const interchange::OpNode& op : interchange::from_graph(model.graph, network).nodes)
      if (op.name.find("spatial_mean") == std::string::npos) ++counts[op.type];
  }
  const Counts expected{{"conv2d", 653},  {"batch_norm", 557},  {"relu", 655}, {"bias", 253},
                        {"max_pool", 41}, {"average_pool", 30}, {"dense", 19}, {"dropout", 7},
                        {"pad", 4},       {"concat", 171}};
  for (const auto& [op, count] : expected) EXPECT_EQ(counts[op], count) << op;
}

}  // namespace
}  // namespace trainyard::networks
