#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "networks/model.h"
#include "ops/activation.h"
#include "ops/average_pool.h"
#include "ops/batch_norm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/dropout.h"
#include "ops/max_pool.h"
#include "ops/softmax_cross_entropy.h"

namespace trainyard::networks {
namespace {

using Counts = std::map<std::string, std::int64_t>;

// Ops in the TensorFlow graphs of the twelve networks, each with plain SGD and with Adam.
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
constexpr std::int64_t kAllOps = 117'816;

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
  for (const char* network :
       {"vgg11", "vgg16", "vgg19", "googlenet", "lenet", "densenet40_k12", "densenet100_k12", "inception3",
        "inception4", "resnet20", "resnet50", "resnet101"})
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

// The published file holds shares of all ops; they resolve to whole numbers.
TEST(OpCounts, EqualThoseOfThePublishedFile) {
  const auto path = shared_data() / "gpualloc" / "node-frequency-old.csv";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << path << " is not here";
  Counts published;
  std::int64_t total = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t comma = line.find(',');
    if (comma == std::string::npos) continue;
    const double exact = std::stod(line.substr(comma + 1)) * static_cast<double>(kAllOps);
    EXPECT_NEAR(exact, std::round(exact), 1e-6) << line;
    published[line.substr(0, comma)] = std::llround(exact);
    total += std::llround(exact);
  }
  EXPECT_EQ(total, kAllOps);
  for (const auto& [op, expected] : kExpected) EXPECT_EQ(published[op], expected) << op;
}

}  // namespace
}  // namespace trainyard::networks
