#include "networks/layers/described_network.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "graph/autodiff.h"
#include "networks/layers/expression.h"
#include "networks/layers/layer.h"
#include "networks/zoo/zoo.h"

namespace trainyard::networks::layers {
namespace {

using graph::Role;

constexpr const char* kExamples[] = {"examples/networks/lenet.yaml", "examples/networks/resnet.yaml",
                                     "examples/networks/text.yaml", "examples/networks/unet.yaml"};

Model model_of(const ModelOptions& options) {
  know_described_networks();
  Model model = build_model(options);
  add_training_step(model, {.rule = ops::Rule::momentum});
  graph::verify(model.graph);
  return model;
}

// The network of a text, for a batch of 2, with its training step.
Model model_of_text(const std::string& text, const generator::Given& parameters = {}) {
  const TestFolder folder;
  return model_of({.network = folder.write("net.yaml", text).string(), .batch = 2, .parameters = parameters});
}

std::string on_images(const std::string& layers) {
  return "input: {height: 12, width: 8, channels: 4}\nclasses: 5\nlayers:\n" + layers;
}
std::string on_steps(const std::string& layers) {
  return "input: {length: 6, vocabulary: 20}\nlayers:\n- embedding: 8\n" + layers;
}

void expect_complaint(const std::string& text, const std::string& part) {
  expect_error(ErrorKind::config, part, [&] { parse_described(text, "n.yaml"); });
}

Shape weight_of(const Model& model, const std::string& name) {
  const graph::ValueId found = model.graph.find(name);
  EXPECT_NE(found, graph::kNone) << name;
  return found == graph::kNone ? Shape{} : model.graph.shape(found);
}

// What decides about numbers: ops, shapes, and names and first values of parameters. With one seed two such
// graphs have the same losses, to the bit.
std::string essence_of(const graph::Graph& graph) {
  std::string text;
  for (const graph::Node& node : graph.nodes()) {
    text += node.op->name;
    if (node.op->describe != nullptr) text += " " + node.op->describe(graph::NodeView(graph, node));
    for (const graph::ValueId output : node.outputs) text += " " + graph.value(output).type.to_string();
    text += "\n";
  }
  for (const graph::Value& value : graph.values())
    if (value.role == Role::parameter || value.role == Role::statistic)
      text += fmt::format("{} {} {} {} {}\n", value.name, value.type.to_string(),
                          static_cast<int>(value.initializer.kind), value.initializer.a, value.initializer.b);
  return text;
}

TEST(Expression, IsANumberWithTheUsualOrder) {
  const Variables variables{{"width", "64"}, {"rate", "0.25"}, {"cell", "lstm"}};
  for (const auto& [text, value] : std::map<std::string, double>{{"7", 7},
                                                                 {"0.5", 0.5},
                                                                 {"$width", 64},
                                                                 {"$width * 2", 128},
                                                                 {"2*$width", 128},
                                                                 {"$width / 4 - 1", 15},
                                                                 {"10 - 2 * 3 + 1", 5},
                                                                 {"$rate", 0.25},
                                                                 {"8 / 2 / 2", 2},
                                                                 {"1e-5", 1e-5},
                                                                 {"3-1", 2}})
    EXPECT_EQ(evaluate(text, variables), value) << text;
  EXPECT_EQ(substituted("$cell", variables), "lstm");
  for (const auto& [text, part] :
       std::map<std::string, std::string>{{"", "is no number"},
                                          {"2 *", "is no number"},
                                          {"(2)", "is no number"},
                                          {"2 3", "is no number"},
                                          {"$cell", "is no number"},
                                          {"1e999", "is no number"},
                                          {"$widht", "no parameter '$widht' (did you mean 'width'?)"},
                                          {"1 / 0", "divides by zero"}})
    expect_error(ErrorKind::config, part, [&, text = text] { evaluate(text, variables); });
}

TEST(DescribedNetwork, IsTheNetworkOfTheZoo) {
  const auto described = [](const char* file, const generator::Given& parameters) {
    return essence_of(model_of({.network = file, .batch = 3, .parameters = parameters}).graph);
  };
  const auto own = [](const char* name) { return essence_of(model_of({.network = name, .batch = 3}).graph); };
  EXPECT_EQ(described("examples/networks/lenet.yaml", {}), own("lenet"));
  EXPECT_EQ(described("examples/networks/resnet.yaml", {}), own("resnet20"));
  EXPECT_EQ(described("examples/networks/resnet.yaml", {{"depth", "5"}}), own("resnet32"));
  EXPECT_NE(described("examples/networks/resnet.yaml", {{"width", "17"}}), own("resnet20"));
}

TEST(DescribedNetwork, RecurrentOneIsTheGeneratedOne) {
  const std::string text =
      "input: {length: 50, vocabulary: 1024}\nlayers:\n- embedding: {name: embedding, width: 100}\n"
      "- repeat: {name: cell, times: 5, layers: [gru: 100]}\n- logits\n";
  std::string described = essence_of(model_of_text(text).graph);
  for (std::size_t at; (at = described.find("/gru1/")) != std::string::npos;) described.replace(at, 6, "/");
  EXPECT_EQ(described,
            essence_of(model_of({.network = "rnn", .batch = 2, .parameters = {{"cell", "gru"}}}).graph));
}

TEST(DescribedNetwork, ExamplesAreNetworksForAnyBatchAndClasses) {
  for (const char* file : kExamples) {
    const Model one = model_of({.network = file}), three = model_of({.network = file, .batch = 3});
    EXPECT_EQ(three.graph.shape(three.logits)[0], 3 * one.graph.shape(one.logits)[0]) << file;
    EXPECT_EQ(graph::parameter_count(one.graph), graph::parameter_count(three.graph)) << file;
    for (const graph::ValueId parameter : one.graph.values_with(Role::parameter))
      EXPECT_NE(three.graph.find(one.graph.value(parameter).name), graph::kNone) << file;
    const NetworkInfo& info = find_network(file);
    if (info.reads_sequences()) continue;
    const Model seven = model_of({.network = file, .classes = 7});
    EXPECT_EQ(seven.graph.shape(seven.logits)[1], 7) << file;
    EXPECT_EQ(build_model({.network = file, .training = false, .loss = false}).labels, graph::kNone) << file;
  }
}

TEST(DescribedNetwork, TheOneOfTheDocumentIsANetwork) {
  std::ifstream page("docs/formats/network-yaml.md");
  std::string text, line;
  while (std::getline(page, line) && !line.starts_with("## "))
    if (line.starts_with("    ")) text += line.substr(4) + "\n";
  EXPECT_EQ(weight_of(model_of_text(text), "block3/conv2/weight"), (Shape{16, 16, 3, 3}));
  EXPECT_EQ(weight_of(model_of_text(text, {{"depth", "1"}, {"width", "4"}}), "conv1/weight"),
            (Shape{4, 3, 5, 5}));
}

TEST(DescribedNetwork, ParametersAreThoseOfAGeneratedOne) {
  const char* const file = "examples/networks/text.yaml";
  know_described_networks();
  const NetworkInfo info = find_network(file, {{"length", "16"}, {"vocabulary", "99"}});
  EXPECT_EQ(info.input, (Shape{16}));
  EXPECT_EQ(info.classes, 99);
  const Model deep = model_of({.network = file, .parameters = {{"layers", "3"}, {"width", "32"}}});
  EXPECT_EQ(weight_of(deep, "layer3/dense1/weight"), (Shape{128, 32}));
  EXPECT_EQ(weight_of(deep, "embedding/weight"), (Shape{256, 32}));
  EXPECT_EQ(deep.graph.find("logits/weight"), graph::kNone);  // that of the embedding
  expect_error(ErrorKind::usage,
               "layers 0: network 'examples/networks/text.yaml' takes a whole number from 1 to 96", [&] {
                 model_of({.network = file, .parameters = {{"layers", "0"}}});
               });
  expect_error(ErrorKind::usage, "has no such parameter, but layers, width, heads, length, vocabulary", [&] {
    model_of({.network = file, .parameters = {{"depth", "2"}}});
  });
  // What fits by default may not fit with other values; the place stays known.
  expect_error(ErrorKind::config, "heads 5 do not divide 64 steps of 64 numbers", [&] {
    model_of({.network = file, .parameters = {{"heads", "5"}}});
  });
  const Model half =
      model_of_text(on_images("- dropout: $share\n- activation: $kind\n- logits\n") +
                        "parameters: {share: 0.5, kind: {default: relu, choices: [relu, gelu]}}\n",
                    {{"share", "0.1"}, {"kind", "gelu"}});
  EXPECT_NE(graph::to_text(half.graph).find("smooth_unit"), std::string::npos);
  EXPECT_NE(graph::to_text(half.graph).find("0.1"), std::string::npos);
}

// One network for each type of layers: all have a gradient for each parameter.
TEST(DescribedNetwork, EveryLayerIsBuilt) {
  const std::map<std::string, std::string> texts{
      {"conv",
       on_images(
           "- conv: {filters: 6, kernel: [3, 1], padding: 1, dilation: 2, groups: 2, activation: mish}\n"
           "- logits\n")},
      {"depthwise_conv", on_images("- depthwise_conv: {multiplier: 2, stride: 2, bias: no}\n- logits\n")},
      {"transposed_conv",
       on_images("- transposed_conv: {filters: 6, kernel: 3, activation: relu}\n- logits\n")},
      {"max_pool", on_images("- max_pool: {size: 3, stride: 2, padding: centred}\n- logits\n")},
      {"average_pool", on_images("- average_pool: {size: [2, 4]}\n- logits\n")},
      {"global_pool", on_images("- conv: 5\n- global_pool: max\n")},
      {"upsample", on_images("- upsample: {factor: 3, kind: linear}\n- upsample\n- logits\n")},
      {"pad_channels", on_images("- conv: 3\n- pad_channels: 7\n- logits\n")},
      {"local_response_norm", on_images("- conv: 6\n- local_response_norm: 5\n- logits\n")},
      {"dense", "input: {features: 9}\nclasses: 3\nlayers: [dense: {units: 4, bias: no}, dense: $classes]\n"},
      {"logits", on_images("- logits: {bias: no}\n")},
      {"activation", on_images("- conv: 4\n- activation: leaky_relu\n- activation: hard_swish\n- logits\n")},
      {"swiglu", on_steps("- dense: 32\n- swiglu\n- logits\n")},
      {"dropout", on_images("- dropout\n- logits\n")},
      {"batch_norm", "input: {features: 9}\nclasses: 3\nlayers: [dense: 6, batch_norm, logits]\n"},
      {"layer_norm", on_steps("- layer_norm\n- logits\n")},
      {"rms_norm", on_steps("- rms_norm: {epsilon: 1e-6}\n- logits\n")},
      {"flatten", on_images("- flatten\n- batch_norm\n- logits\n")},
      {"embedding", on_steps("- logits\n")},
      {"positions", on_steps("- positions: sinusoidal\n- positions\n- logits\n")},
      {"attention", on_steps("- attention: {heads: 4, kv_heads: 2, rotary: yes, bias: no}\n- logits\n")},
      {"lstm", on_steps("- lstm: 7\n- residual: [lstm: 7]\n- logits\n")},
      {"gru", on_steps("- gru: 7\n- dense: 3\n- gru: 4\n- logits\n")},
      {"rnn", on_steps("- rnn: 7\n- logits\n")},
      {"residual",
       on_images("- residual: {name: a/b, layers: [conv: {filters: 6, stride: 2}], activation: relu,\n"
                 "             shortcut: [conv: {filters: 6, stride: 2, kernel: 1}]}\n- logits\n")},
      {"add", on_images("- add: [[conv: 4], [], [conv: {filters: 4, kernel: 5}]]\n- logits\n")},
      {"concat",
       on_images(
           "- conv: {name: first, filters: 3}\n- conv: {name: wide, filters: 6}\n- concat: [[], first]\n"
           "- concat: [wide, [conv: {filters: 2, from: first}], []]\n- logits\n")},
      {"multiply",
       on_images("- multiply: [[], [global_pool, dense: {units: 4, activation: sigmoid}], [conv: 4]]\n"
                 "- logits\n")},
      {"repeat", on_images("- repeat: {times: 3, layers: [conv: 4, batch_norm]}\n- logits\n")},
  };
  for (const LayerRow& row : layer_rows()) {
    ASSERT_TRUE(texts.contains(row.name)) << row.name;
    const Model model = model_of_text(texts.at(row.name));
    EXPECT_EQ(model.gradients.size(), model.graph.values_with(Role::parameter).size()) << row.name;
    EXPECT_EQ(model.graph.value(model.logits).name, "logits:0") << row.name;
  }
}

TEST(DescribedNetwork, NamesAreThoseOfTheFileOrCounted) {
  const Model model = model_of_text(on_images(
      "- conv: 4\n- repeat: {times: 2, layers: [conv: 4]}\n- repeat: {name: stage, times: 2, layers: "
      "[conv: {name: inner, filters: 4}]}\n- add: {name: both, branches: [[conv: 4], stage2/inner]}\n"
      "- logits\n"));
  for (const char* name : {"conv1", "conv2", "conv3", "stage1/inner", "stage2/inner", "both/conv1", "logits"})
    EXPECT_NE(model.graph.find(std::string(name) + "/weight"), graph::kNone) << name;
  // The innermost block that has such a name.
  const Model inner = model_of_text(on_images(
      "- conv: {name: a, filters: 2}\n- residual: {name: r, layers: [conv: {name: a, filters: 6}, conv: 3, "
      "concat: [[], a], conv: 2]}\n- logits\n"));
  EXPECT_EQ(weight_of(inner, "r/conv2/weight")[1], 9);
}

TEST(DescribedNetwork, MistakesHaveAPlaceAndOneLine) {
  const std::string image = "input: {height: 12, width: 8, channels: 4}\n";
  expect_complaint("", "n.yaml:1:1: 'key: value' lines expected");
  expect_complaint("layers: [logits]\n", "n.yaml:1:1: a network has an `input`");
  expect_complaint(image + "classes: 2\n", "n.yaml:1:1: a network has `layers`");
  expect_complaint(image + "layers: [logits]\n", "a network has `classes`");
  expect_complaint(image + "classes: 2\nlayers: []\n", "one layer at least");
  expect_complaint(image + "classes: 0\nlayers: [logits]\n",
                   "n.yaml:2:10: '0' given, a whole number from 1 to 16777216");
  expect_complaint(image + "clases: 2\n",
                   "n.yaml:2:1: unknown key 'clases' of a network (did you mean 'classes'?)");
  expect_complaint("input: {height: 5, channels: 3}\n", "width is missing, beside channels");
  expect_complaint("input: {height: 5, length: 3}\n",
                   "n.yaml:1:20: 'length' is of another input than 'height'");
  expect_complaint("input: {height: 1.5, width: 3, channels: 1}\nclasses: 2\nlayers: [logits]\n",
                   "n.yaml:1:17: height 1.5: a whole number");
}

TEST(DescribedNetwork, MistakesOfLayersHaveTheirPlace) {
  expect_complaint(on_images("- convv: 3\n"), "n.yaml:4:3: unknown layer 'convv' (did you mean 'conv'?)");
  expect_complaint(on_images("- conv: {filter: 3}\n"),
                   "n.yaml:4:10: unknown option 'filter' of layer 'conv' (did you mean 'filters'?)");
  expect_complaint(on_images("- conv\n"), "n.yaml:4:3: layer 'conv' wants filters");
  expect_complaint(on_images("- conv:\n  filters: 3\n"),
                   "one key, its type, with its options below; 2 keys are here");
  expect_complaint(on_images("- conv: 0\n"), "n.yaml:4:9: filters 0: a whole number from 1 to");
  expect_complaint(on_images("- conv: {filters: 2 * 1.25}\n"), "filters 2 * 1.25 (2.5): a whole number");
  expect_complaint(on_images("- conv: $n\n"), "n.yaml:4:9: filters: there is no parameter '$n'");
  expect_complaint(on_images("- conv: {filters: 3, activation: rleu}\n"),
                   "activation 'rleu' (did you mean 'relu'?): one of none, relu,");
  expect_complaint(on_images("- conv: {filters: 3, padding: smae}\n"),
                   "padding 'smae' (did you mean 'same'?)");
  expect_complaint(on_images("- conv: {filters: 3, bias: maybe}\n"), "bias 'maybe': yes or no expected");
  expect_complaint(on_images("- conv: {filters: 4, groups: 3}\n"),
                   "layer 'conv1': groups 3 does not divide the 4");
  expect_complaint(on_images("- conv: {filters: 4, kernel: 20, padding: valid}\n"),
                   "n.yaml:4:3: layer 'conv1': ");
}

TEST(DescribedNetwork, LayersThatDoNotFitAreToldWithTheirShapes) {
  expect_complaint(on_images("- dense: 3\n- conv: 3\n"),
                   "n.yaml:5:3: layer 'conv1' (conv) reads images, and gets 3 numbers");
  expect_complaint(on_images("- dense: 3\n"),
                   "the last layer makes 3 numbers, and 5 classes are wanted: `- logits`");
  expect_complaint(on_images("- logits\n- dense: 5\n"), "a layer comes behind `logits`");
  expect_complaint(
      on_images("- residual: [conv: 5]\n- logits\n"),
      "n.yaml:4:3: layer 'residual1': its layers make an image of 5x12x8, and its shortcut an image of "
      "4x12x8");
  expect_complaint(on_images("- concat: [[], [max_pool]]\n- logits\n"),
                   "its branches make an image of 4x12x8, an image of 4x6x4: only channels");
  expect_complaint(
      on_images("- conv: {name: a, filters: 3}\n- conv: 4\n- conv: {filters: 3, from: a}\n- logits\n"),
      "n.yaml:5:3: no layer reads what the one of 'conv1/weight' makes");
  expect_complaint(on_images("- concat: [[], stem]\n- logits\n"),
                   "n.yaml:4:16: no layer 'stem' comes before");
  expect_complaint(on_images("- add: [[]]\n- logits\n"), "two branches or more");
  expect_complaint(on_images("- conv: {name: a, filters: 3}\n- conv: {name: a, filters: 3}\n- logits\n"),
                   "layer 'a' is there twice");
  expect_complaint(on_images("- conv: {name: 'a:b', filters: 3}\n"), "n.yaml:4:16: name 'a:b': letters");
  expect_complaint(on_images("- conv: {name: logits, filters: 3}\n"), "name 'logits'");
  expect_complaint("input: {length: 4, vocabulary: 9}\nlayers: [logits]\n",
                   "reads images or numbers or steps of sequences, and gets 4 tokens, which `embedding`");
  expect_complaint("input: {length: 4, vocabulary: 9}\nclasses: 3\nlayers: [logits]\n",
                   "has those of its vocabulary");
  expect_complaint(
      "input: {length: 4, vocabulary: 9, masked: yes}\nlayers: [embedding: 4, lstm: 4, logits]\n",
      "steps see only those before");
  expect_complaint(on_steps("- attention: {heads: 3}\n"), "heads 3 do not divide 6 steps of 8 numbers");
  expect_complaint(on_steps("- logits: {tied: embeding}\n"), "no layer 'embeding' comes before");
  expect_complaint(on_images("- logits\n") + "parameters: {batch: 3}\n", "a setting of runs has this name");
  expect_complaint(on_images("- logits\n") + "parameters: {n: {from: 1}}\n", "parameter 'n' has no default");
  expect_complaint(on_images("- logits\n") + "parameters: {n: {default: 9, to: 8}}\n",
                   "n.yaml:5:27: parameter 'n' is '9': a whole number from 1 to 8 expected");
  expect_complaint(on_images("- logits\n") + "parameters: {cell: lstm}\n", "parameter 'cell' is 'lstm'");
}

TEST(DescribedNetwork, SizesBeyondAnyMachineAreRefused) {
  expect_complaint(
      on_images("- repeat: {times: 200, layers: [repeat: {times: 200, layers: [flatten: {}]}]}\n"),
      "n.yaml:4:");
  expect_complaint(
      on_images("- repeat: {times: 200, layers: [repeat: {times: 200, layers: [dropout]}]}\n- logits\n"),
      "more than 20000 layers");
  std::string wide = "- flatten\n";
  for (int i = 0; i < 3; ++i) wide += "- dense: 16777216\n";
  expect_complaint(on_images(wide), "weights, at most 1e+12 are possible");
  expect_complaint(on_images("- upsample: 1024\n- upsample: 1024\n- logits\n"), "numbers of a sample");
  expect_complaint(on_images("- transposed_conv: {filters: 262144, stride: 1024}\n- logits\n"),
                   "numbers of a sample");
  expect_complaint(
      "input: {height: 16384, width: 16384, channels: 4096}\nclasses: 2\nlayers: [conv: 262144, logits]\n",
      "numbers of a sample");
}

}  // namespace
}  // namespace trainyard::networks::layers
