#include <gtest/gtest.h>

#include <cmath>

#include <fmt/core.h>

#include "graph/autodiff.h"
#include "networks/builder.h"
#include "networks/zoo/zoo.h"
#include "ops/norm.h"

namespace trainyard::networks {
namespace {

struct Size {
  std::int64_t parameters;
  std::int64_t fixed_scales;   // of batch norms whose scale is one and not trained
  std::int64_t forward_flops;  // of one image
};

Size size_of_network(const std::string& name, int classes) {
  const Model model = build_model({.network = name, .batch = 2, .classes = classes});
  std::int64_t fixed_scales = 0;
  for (const graph::ValueId id : model.graph.values_with(graph::Role::statistic)) {
    const graph::Value& value = model.graph.value(id);
    if (value.name.ends_with("/gamma")) fixed_scales += value.type.shape.elements();
  }
  return {graph::parameter_count(model.graph), fixed_scales,
          graph::total_cost(model.graph, graph::Phase::forward).flops / 2};
}

// Counted from the definitions in tf_cnn_benchmarks with 1001 classes; compared to the digits printed. The
// table counts a scale for every batch norm, also where the definition has none (both later Inceptions); the
// op counts show that those are not trained.
TEST(ParametersAndFlops, TwelveNetworksOfThePerformanceData) {
  struct Row {
    const char *network, *gflop, *million_parameters;
  };
  const Row rows[] = {
      {"vgg11", "15.22", "132.9"},        {"vgg16", "30.94", "138.4"},
      {"vgg19", "39.26", "143.7"},        {"googlenet", "3.17", "7.0"},
      {"lenet", "0.028", "2.2"},          {"densenet40_k12", "0.303", "0.52"},
      {"densenet100_k12", "1.92", "2.6"}, {"inception3", "11.43", "23.8"},
      {"inception4", "24.51", "42.7"},    {"resnet20", "0.081", "0.33"},
      {"resnet50", "7.72", "25.6"},       {"resnet101", "15.14", "44.6"},
  };
  const auto printed_like = [](const std::string& expected, double value) {
    return fmt::format("{:.{}f}", value, expected.size() - expected.find('.') - 1);
  };
  for (const Row& row : rows) {
    const Size size = size_of_network(row.network, 1001);
    EXPECT_EQ(printed_like(row.gflop, static_cast<double>(size.forward_flops) / 1e9), row.gflop)
        << row.network;
    EXPECT_EQ(
        printed_like(row.million_parameters, static_cast<double>(size.parameters + size.fixed_scales) / 1e6),
        row.million_parameters)
        << row.network;
  }
}

// Trainable parameters as published for the same networks in other frameworks, or multiplied out by hand.
TEST(ParametersAndFlops, PublishedParameterCounts) {
  struct Row {
    const char* network;
    int classes;
    std::int64_t parameters;
  };
  const Row rows[] = {
      {"deepmnist", 10, 3'274'634},
      {"cifarnet", 10, 1'068'298},
      {"fc", 100, 4'276'324},
      {"densenet100_k24", 10, 8'659'178},
      {"alexnet_v2", 1001, 50'308'009},
      {"vgg11", 1000, 132'863'336},
      {"vgg16", 1000, 138'357'544},
      {"vgg19", 1000, 143'667'240},
      {"inception3", 1000, 23'817'352},
      {"resnet18", 1000, 11'689'512},
      {"resnet34", 1000, 21'797'672},
      {"resnet50", 1000, 25'557'032},
      {"resnet101", 1000, 44'549'160},
      {"resnet152", 1000, 60'192'808},
      {"mobilenet_v1", 1000, 4'231'976},
      {"densenet121", 1000, 7'978'856},
      {"squeezenet", 1000, 1'248'424},
      {"resnet20", 10, 269'722},
      {"resnet110", 10, 1'727'962},
      {"inception_resnet_v2", 1000, 55'813'192},
      {"inception4", 1000, 42'648'232},
  };
  for (const Row& row : rows)
    EXPECT_EQ(size_of_network(row.network, row.classes).parameters, row.parameters) << row.network;
  // Elsewhere Inception v4 is counted with the scales that TensorFlow's definition leaves out.
  const Size inception4 = size_of_network("inception4", 1000);
  EXPECT_EQ(inception4.parameters + inception4.fixed_scales, 42'679'816);
}

TEST(ParametersAndFlops, MultiplyAddsOfTheTutorialNetworks) {
  EXPECT_EQ(size_of_network("deepmnist", 10).forward_flops, 2 * 13'883'904);
  EXPECT_EQ(size_of_network("cifarnet", 10).forward_flops, 2 * 18'470'784);
}

// GPT-2 from its paper's released weights (the first is called "117M" there, and has 124 M), TinyLlama from
// its model card, vision transformers as timm counts them.
TEST(ParametersAndFlops, PublishedParameterCountsOfTransformers) {
  const std::pair<const char*, std::int64_t> rows[] = {
      {"gpt2", 124'439'808},      {"gpt2_medium", 354'823'168},  {"gpt2_large", 774'030'080},
      {"gpt2_xl", 1'557'611'200}, {"tiny_llama", 1'100'048'384}, {"vit_s16", 22'050'664},
      {"vit_b16", 86'567'656}};
  for (const auto& [network, parameters] : rows)
    EXPECT_EQ(graph::parameter_count(build_model({.network = network}).graph), parameters) << network;
}

// Mixtral 8x7B has 46.7 G parameters, of which each token uses 12.9 G (Jiang et al., 2024); the weights that
// were published have as many as here. Two flops for each but those of the embedding, which is a look-up.
TEST(ParametersAndFlops, PublishedCountsOfExperts) {
  const Model model = build_model({.network = "tiny_llama",
                                   .parameters = {{"layers", "32"},
                                                  {"width", "4096"},
                                                  {"heads", "32"},
                                                  {"kv_heads", "8"},
                                                  {"ffn", "14336"},
                                                  {"length", "1"},
                                                  {"experts", "8"}}});
  EXPECT_EQ(graph::parameter_count(model.graph), 46'702'792'704);
  const std::int64_t norms = 4096 * (2 * 32 + 1), embedding = std::int64_t{32000} * 4096,
                     attended = 2 * 2 * 4096 * 32;  // of the only step
  EXPECT_EQ(graph::total_cost(model.graph, graph::Phase::forward).flops - attended,
            2 * (12'879'925'248 - norms - embedding));
}

// torchvision's retinanet_resnet50_fpn has 34,014,999 parameters, for 91 classes, with scales and offsets of
// norms that are fixed (53,120), and with a sixth level that is made of the fifth instead of the last group,
// whose channels are eight times as many. MMDetection counts 37.74 M for the same as here, without those of
// the first layers, which are fixed: the stem and the first group have 225,344.
TEST(ParametersAndFlops, RetinaNet) {
  constexpr std::int64_t kWidth = 256, kOfKernel = 9, kNorms = 53'120, kFixed = 225'344;
  const Model model = build_model({.network = "retinanet"});
  const std::int64_t found = graph::parameter_count(model.graph),
                     sixth_level = kOfKernel * kWidth * (2048 - kWidth),
                     classes = 9 * (91 - 80) * (kOfKernel * kWidth + 1);
  EXPECT_EQ(found, 34'014'999 + kNorms + sixth_level - classes);
  EXPECT_EQ(fmt::format("{:.2f}", static_cast<double>(found - kFixed) / 1e6), "37.74");
  // Each level has the same layers, with one set of weights.
  EXPECT_EQ(graph::parameter_count(model.graph),
            graph::parameter_count(build_model({.network = "retinanet", .input = {3, 64, 96}}).graph));
  // MMDetection's analysis of images of 1280 x 800 says 239.32 G multiply-adds, with those of norms. As
  // there, bottlenecks have their stride on the 3x3.
  const Model large = build_model({.network = "retinanet", .input = {3, 800, 1280}});
  const auto flops = static_cast<double>(graph::total_cost(large.graph, graph::Phase::forward).flops);
  EXPECT_NEAR(flops / 2e9, 239.32, 0.005 * 239.32);
  EXPECT_LT(flops / 2e9, 239.32);
}

// Hugging Face's BertForMaskedLM has 109,514,298 parameters: what BertModel has, 109,482,240, without its
// pooler (590,592), and with the head for masked tokens (622,650: a dense layer, its norm, the bias of the
// decoder). Here no sequence has a second segment, so there is no embedding of segments, two vectors of 768.
TEST(ParametersAndFlops, BertIsPublishedWithEmbeddingsOfSegments) {
  const Model bert = build_model({.network = "bert_base"});
  const std::int64_t segments = 2 * 768, pooler = 768 * 768 + 768, head = 768 * 768 + 768 + 2 * 768 + 30522;
  EXPECT_EQ(graph::parameter_count(bert.graph), 109'514'298 - segments);
  EXPECT_EQ(graph::parameter_count(bert.graph), 109'482'240 - segments - pooler + head);
  // Two for each multiply-add: 12 layers of 12 width^2 and attention to 512 steps; then the head.
  const std::int64_t of_step = 12 * (12 * 768 * 768 + 2 * 512 * 768) + 768 * 768 + 768 * 30522;
  EXPECT_EQ(graph::total_cost(bert.graph).flops, 2 * 512 * of_step);
}

// The source says "about 82 MFLOP": all three products of each layer, but no input gradient of the first.
TEST(ParametersAndFlops, TrainingFlopsOfDeepmnist) {
  Model model = build_model({.network = "deepmnist", .batch = 2});
  add_training_step(model, {.rule = ops::Rule::adam, .schedule = {}});
  EXPECT_EQ(graph::total_cost(model.graph).flops / 2, 6 * 13'883'904 - 2 * 627'200);
}

// The original's log starts at a loss of 4.68: ln 10, because the last weights are tiny, and the expected
// penalty of truncated normal weights.
TEST(ParametersAndFlops, FirstLossOfCifarnet) {
  const Model model = build_model({.network = "cifarnet", .batch = 2});
  double loss = std::log(10.0);
  int penalised = 0;
  for (const graph::Node& node : model.graph.nodes()) {
    if (node.op != &ops::l2_penalty_op) continue;
    for (const graph::ValueId weight : node.inputs) {
      const graph::Value& value = model.graph.value(weight);
      ASSERT_EQ(value.initializer.kind, graph::Initializer::Kind::truncated_normal);
      const double sigma = value.initializer.b * kTruncatedDeviation;
      loss += node.attrs<ops::L2PenaltyAttrs>().coefficient / 2 * sigma * sigma *
              static_cast<double>(value.type.shape.elements());
      ++penalised;
    }
  }
  EXPECT_EQ(penalised, 2);
  EXPECT_NEAR(loss, 4.68, 0.005);
}

}  // namespace
}  // namespace trainyard::networks
