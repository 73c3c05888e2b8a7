#include "networks/zoo/zoo.h"

#include <iterator>

#include "base/text.h"
#include "networks/zoo/fine_tuning.h"
#include "networks/zoo/network_files.h"
#include "ops/detection.h"
#include "ops/loss.h"
#include "ops/registry/registry.h"
#include "ops/sequence/experts.h"
#include "ops/shape.h"

namespace trainyard::networks {

const std::vector<NetworkInfo>& all_networks() {
  static const std::vector<NetworkInfo> all = [] {
    std::vector<NetworkInfo> joined;
    for (const auto family : {deepmnist_networks,
                              lenet_networks,
                              cifarnet_networks,
                              fc_networks,
                              cnn_networks,
                              mix_networks,
                              rnn_networks,
                              transformer_networks,
                              vit_networks,
                              trivial_networks,
                              alexnet_networks,
                              overfeat_networks,
                              vgg_networks,
                              googlenet_networks,
                              inception3_networks,
                              inception4_networks,
                              inception_resnet_networks,
                              resnet_networks,
                              resnet_cifar_networks,
                              retinanet_networks,
                              densenet_networks,
                              mobilenet_networks,
                              squeezenet_networks}) {
      std::vector<NetworkInfo> rows = family();
      joined.insert(joined.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
    }
    return joined;
  }();
  return all;
}

const NetworkInfo& find_network(std::string_view name) {
  if (const auto file = network_file(name)) return file->info;  // which stays known
  std::vector<std::string> names;
  for (const NetworkInfo& info : all_networks()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  fail(ErrorKind::usage, "unknown network '{}'{}; `trainyard networks` lists them", name,
       did_you_mean(name, names));
}

bool is_parameter(std::string_view name) {
  for (const NetworkInfo& network : all_networks())
    if (network.generator != nullptr)
      for (const generator::Parameter& parameter : network.generator->parameters)
        if (parameter.name == name) return true;
  return false;
}

generator::Parameters parameters_of(const NetworkInfo& info, const generator::Given& given) {
  const generator::Generator* generator = info.generator;
  generator::Parameters parameters(
      info.name, generator == nullptr ? std::vector<generator::Parameter>{} : generator->parameters, given);
  if (generator != nullptr && generator->check != nullptr) generator->check(parameters);
  return parameters;
}

NetworkInfo find_network(std::string_view name, const generator::Given& given) {
  NetworkInfo info = find_network(name);
  const generator::Parameters parameters = parameters_of(info, given);
  if (info.generator != nullptr) info.input = info.generator->input(parameters);
  if (info.reads_sequences()) {
    const generator::SequenceSizes sizes = info.generator->sequence(parameters);
    info.classes = static_cast<int>(sizes.vocabulary);
    info.masked = sizes.masked;
  }
  return info;
}

namespace {

using graph::Graph;
using graph::Initializer;
using graph::ValueId;

constexpr int kMostSlots = 3;  // of any optimizer, per parameter

void check(const ModelOptions& options) {
  if (options.batch < 1) fail(ErrorKind::usage, "batch {}: must be at least 1", options.batch);
  if (options.classes < 0)
    fail(ErrorKind::usage, "classes {}: must be at least 1, or 0 for the network's own", options.classes);
  if (!(options.label_smoothing >= 0 && options.label_smoothing < 1))
    fail(ErrorKind::usage, "label smoothing {}: must be at least 0 and below 1", options.label_smoothing);
  if (!(options.weight_decay >= 0))
    fail(ErrorKind::usage, "weight decay {}: must be at least 0", options.weight_decay);
}

// Costs are 64-bit numbers everywhere.
void check_countable(const NetworkInfo& info, const ModelOptions& options) {
  const int classes = options.classes == 0 ? info.classes : options.classes;
  const generator::Counts counts =
      info.generator->count(parameters_of(info, options.parameters), classes,
                            {.batch = options.batch, .training = options.training, .slots = kMostSlots});
  if (counts.flops() >= generator::kUncountable || counts.peak_bytes == generator::kUncountable ||
      counts.compulsory_bytes == generator::kUncountable)
    fail(ErrorKind::usage,
         "network '{}': a step of batch {} in these sizes has more than {:.1e} operations or bytes",
         info.name, options.batch, static_cast<double>(generator::kUncountable));
}

Shape batch_of(std::int64_t batch, const Shape& one) {
  Shape shape{batch};
  for (const std::int64_t dim : one) shape.append(dim);
  return shape;
}

// Adds the network's own penalties and the weight decay, one node for each coefficient. Frozen weights have
// none.
std::vector<ValueId> add_penalties(Model& model, const Builder& own, double weight_decay) {
  Graph& graph = model.graph;
  const auto is_frozen = [&](ValueId weight) {
    return std::find(model.frozen.begin(), model.frozen.end(), weight) != model.frozen.end();
  };
  std::map<double, std::vector<ValueId>> by_coefficient;
  for (const Penalty& penalty : own.penalties())
    if (!is_frozen(penalty.weight)) by_coefficient[penalty.coefficient].push_back(penalty.weight);
  std::vector<ValueId> terms;
  for (const auto& [coefficient, weights] : by_coefficient)
    terms.push_back(ops::l2_penalty(graph, "penalty", weights, coefficient));
  std::map<double, std::vector<ops::Balanced>> of_experts;
  for (const Imbalance& imbalance : own.imbalances())
    of_experts[imbalance.coefficient].push_back(imbalance.layer);
  for (const auto& [coefficient, layers] : of_experts)
    terms.push_back(ops::balance_penalty(graph, "balance", layers, coefficient));
  if (weight_decay > 0) {
    std::vector<ValueId> weights;
    for (const ValueId parameter : graph.values_with(graph::Role::parameter))
      if (graph.shape(parameter).rank() >= 2 && !is_frozen(parameter)) weights.push_back(parameter);
    if (!weights.empty()) terms.push_back(ops::l2_penalty(graph, "weight_decay", weights, weight_decay));
  }
  return terms;
}

// Adds inputs and layers, up to the logits.
void add_images(Model& model, Builder& builder, const NetworkInfo& info, const ModelOptions& options) {
  Graph& graph = model.graph;
  const int classes = options.classes == 0 ? info.classes : options.classes;
  const Shape& input = options.input.rank() == 0 ? info.input : options.input;
  model.images =
      graph.add_input("images", {batch_of(options.batch, input), options.dtype}, Initializer::normal(1));
  if (options.loss)
    model.labels =
        graph.add_input("labels", {{options.batch}, DType::i32}, Initializer::integers(0, classes));
  model.logits = info.generator != nullptr ? info.generator->build(builder, model.images, classes,
                                                                   parameters_of(info, options.parameters))
                                           : info.build(builder, model.images, classes);
}

// Adds lengths and labels of sequences; `model.tokens` are there.
void add_labels_of_steps(Model& model, bool masked) {
  Graph& graph = model.graph;
  const std::int64_t rows = graph.shape(model.tokens)[0], length = masked ? rows / 2 : rows - 1,
                     batch = graph.shape(model.tokens)[1];
  model.lengths = graph.add_input("lengths", {{batch}, DType::i32},
                                  Initializer::integers(1, static_cast<double>(length + 1)));
  model.labels = ops::slice(graph, masked ? "masked_ids" : "next_ids", model.tokens, {rows - length, 0},
                            {length, batch});
}

void add_sequences(Model& model, Builder& builder, const NetworkInfo& info, const ModelOptions& options) {
  if (options.classes != 0)
    fail(ErrorKind::usage, "classes {}: network '{}' has those of its vocabulary; give {}", options.classes,
         info.name, Setting{"vocabulary"});
  if (options.label_smoothing != 0)
    fail(ErrorKind::usage, "label smoothing {}: network '{}' reads sequences, whose loss has none",
         options.label_smoothing, info.name);
  Graph& graph = model.graph;
  const generator::Parameters parameters = parameters_of(info, options.parameters);
  const generator::SequenceSizes sizes = info.generator->sequence(parameters);
  const std::int64_t batch = options.batch, length = sizes.length, vocabulary = sizes.vocabulary;
  model.tokens = graph.add_input("tokens", {{sizes.rows(), batch}, DType::i32},
                                 Initializer::integers(0, static_cast<double>(vocabulary)));
  if (options.loss) add_labels_of_steps(model, sizes.masked);
  const ValueId ids = ops::slice(graph, "ids", model.tokens, {0, 0}, {length, batch});
  model.logits = info.generator->build(builder, ids, static_cast<int>(vocabulary), parameters);
}

// Boxes all over the images, of every class: what is trained on where nothing is given.
Initializer some_boxes(std::int64_t batch, const Shape& image, int classes) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < batch * kMostBoxes; ++i) {
    const std::int64_t height = image[1] * (1 + i % 7) / 14, width = image[2] * (1 + i % 5) / 10,
                       top = i * 37 % (image[1] - height), left = i * 101 % (image[2] - width);
    for (const std::int64_t number : {i % classes, left, top, left + width, top + height})
      numbers.push_back(static_cast<double>(number));
  }
  return Initializer::listed(std::move(numbers));
}

// Adds inputs and layers, up to what the network says of each anchor.
Detection add_detection(Model& model, Builder& builder, const NetworkInfo& info,
                        const ModelOptions& options) {
  Graph& graph = model.graph;
  const int classes = options.classes == 0 ? info.classes : options.classes;
  const Shape& input = options.input.rank() == 0 ? info.input : options.input;
  if (options.label_smoothing != 0)
    fail(ErrorKind::usage, "label smoothing {}: network '{}' finds boxes, whose loss has none",
         options.label_smoothing, info.name);
  model.images =
      graph.add_input("images", {batch_of(options.batch, input), options.dtype}, Initializer::normal(1));
  if (options.loss)
    model.labels = graph.add_input("labels", {{options.batch, kMostBoxes, ops::kBoxNumbers}, DType::i32},
                                   some_boxes(options.batch, input, classes));
  const Detection said = info.detect(builder, model.images, classes);
  model.logits = said.logits;
  if (!options.loss) graph.mark_output(said.offsets);
  return said;
}

// Returns what a network that finds objects says.
std::optional<Detection> add_named(Model& model, Builder& builder, const ModelOptions& options) {
  const NetworkInfo info = find_network(options.network, options.parameters);
  if (info.generator != nullptr && info.generator->count != nullptr) check_countable(info, options);
  if (info.reads_sequences())
    add_sequences(model, builder, info, options);
  else if (info.finds_boxes())
    return add_detection(model, builder, info, options);
  else
    add_images(model, builder, info, options);
  return std::nullopt;
}

void add_imported(Model& model, const ModelOptions& options, Graph imported) {
  Graph& graph = model.graph;
  graph = std::move(imported);
  model.logits = graph.outputs().front();
  const Shape said = graph.shape(model.logits);
  if (options.loss && said.rank() != 2)
    fail(ErrorKind::unsupported, "network '{}': its output {} is no logits (N, classes)", options.network,
         said.to_string());
  const std::int64_t classes = said.rank() == 2 ? said[1] : 0;
  // Others find the logits by this name.
  if (graph.value(model.logits).name != "logits:0")
    model.logits = ops::reshape(graph, "logits", model.logits, graph.shape(model.logits));
  model.tokens = graph.find("tokens");
  if (model.tokens != graph::kNone) {
    if (options.classes != 0)
      fail(ErrorKind::usage, "classes {}: network '{}' has those of its vocabulary, {}", options.classes,
           options.network, classes);
    const Shape tokens = graph.shape(model.tokens);
    const std::int64_t length = graph.shape(model.logits)[0] / tokens[1];
    if (options.loss) add_labels_of_steps(model, tokens[0] != length + 1);
    return;
  }
  model.images = graph.find("images");
  if (options.classes != 0 && options.classes != classes)
    fail(ErrorKind::usage, "classes {}: network '{}' has {}", options.classes, options.network, classes);
  if (const Shape own = graph.shape(model.images);
      options.input.rank() != 0 && !(batch_of(options.batch, options.input) == own))
    fail(ErrorKind::usage, "network '{}': reads a batch of {}, and the data set has images of {}",
         options.network, own.to_string(), options.input.to_string());
  if (options.loss)
    model.labels = graph.add_input("labels", {{options.batch}, DType::i32},
                                   Initializer::integers(0, static_cast<double>(classes)));
}

ValueId cross_entropy(Model& model, const char* name, double label_smoothing) {
  if (model.tokens != graph::kNone)
    return ops::sequence_cross_entropy(model.graph, name, model.logits, model.labels, model.lengths);
  return ops::softmax_cross_entropy(model.graph, name, model.logits, model.labels, {label_smoothing}).loss;
}

// Adds the sum of the losses of classes and of boxes.
ValueId detection_loss(Model& model, const char* name, const Detection& said, DType dtype) {
  Graph& graph = model.graph;
  const ops::MatchedAnchors asked =
      ops::match_anchors(graph, "anchor_labels", model.labels, {said.anchors, dtype});
  model.anchor_labels = asked.labels;
  return ops::add(graph, name,
                  {ops::focal_loss(graph, "class_loss", said.logits, asked.labels, asked.share),
                   ops::box_loss(graph, "box_loss", said.offsets, asked.targets, asked.labels, asked.share)});
}

void add_loss(Model& model, const Builder& own, const std::optional<Detection>& said,
              const ModelOptions& options) {
  Graph& graph = model.graph;
  const bool penalised =
      options.training && (!own.penalties().empty() || !own.imbalances().empty() || options.weight_decay > 0);
  model.loss = said ? detection_loss(model, penalised ? "data_loss" : "loss", *said, options.dtype)
                    : cross_entropy(model, penalised ? "cross_entropy" : "loss", options.label_smoothing);
  if (penalised) {
    std::vector<ValueId> terms = add_penalties(model, own, options.weight_decay);
    terms.insert(terms.begin(), model.loss);
    model.loss = ops::add(graph, "loss", terms);
  }
  graph.mark_output(model.loss);
}

}  // namespace

Model build_model(const ModelOptions& options) {
  check(options);
  TRAINYARD_CHECK(options.loss || !options.training);
  Model model;
  model.training = options.training;
  Graph& graph = model.graph;
  Builder builder(graph, options.training, options.dtype);
  std::optional<Detection> said;
  if (const auto file = imported_file(options.network); options.imported || file)
    add_imported(model, options,
                 (options.imported ? options.imported : file->build)(options.batch, options.training));
  else
    said = add_named(model, builder, options);

  if (options.start) start_from(graph, *options.start);
  if (options.training && !options.freeze.empty()) {
    std::vector<ValueId> results{model.logits};
    if (said) results.push_back(said->offsets);
    model.frozen = frozen_parameters(graph, results, options.freeze);
    freeze_batch_norms(graph, model.frozen);
  }
  if (options.loss) add_loss(model, builder, said, options);
  // Those of a language model are the largest value of its training step, and nobody reads them after it: the
  // gradient may take their place. Nor does anybody read those of anchors.
  const bool only_for_the_loss =
      options.training && (model.tokens != graph::kNone || model.anchor_labels != graph::kNone);
  if (!options.training && model.anchor_labels != graph::kNone) graph.mark_output(model.anchor_labels);
  const std::vector<ValueId>& marked = graph.outputs();
  if (!only_for_the_loss && std::find(marked.begin(), marked.end(), model.logits) == marked.end())
    graph.mark_output(model.logits);
  return model;
}

Decoder build_decoder(const DecoderOptions& options) {
  const NetworkInfo& info = find_network(options.network);
  if (info.generator == nullptr || info.generator->decode == nullptr)
    fail(ErrorKind::usage, "network '{}' does not make text; transformers do", info.name);
  const generator::Parameters parameters = parameters_of(info, options.parameters);
  const auto [length, vocabulary, masked] = info.generator->sequence(parameters);
  if (options.steps < 1 || options.steps > length)
    fail(ErrorKind::usage, "{} tokens at once: network '{}' has room for {}", options.steps, info.name,
         length);
  Decoder decoder;
  Graph& graph = decoder.graph;
  const graph::TensorType steps{{options.steps, options.batch}, DType::i32};
  decoder.input = {graph.add_input("ids", steps, Initializer::integers(0, static_cast<double>(vocabulary))),
                   graph.add_input("places", steps, Initializer::integers(0, static_cast<double>(length))),
                   graph.add_input("first", {{1}, DType::i32})};
  Builder builder(graph, false);
  decoder.logits = info.generator->decode(builder, decoder.input, parameters);
  graph.mark_output(decoder.logits);
  return decoder;
}

void add_training_step(Model& model, const ops::UpdateAttrs& update, int micro_batches) {
  TRAINYARD_CHECK(model.training && model.gradients.empty());
  std::vector<ValueId> parameters = model.graph.values_with(graph::Role::parameter);
  std::erase_if(parameters, [&](ValueId parameter) {
    return std::find(model.frozen.begin(), model.frozen.end(), parameter) != model.frozen.end();
  });
  model.gradients = ops::gradients_of(model.graph, model.loss, parameters);
  if (micro_batches > 1)
    model.gradients =
        ops::accumulate(model.graph, "accumulate", parameters, model.gradients, {micro_batches});
  model.shadow_weights = ops::update(model.graph, "update", parameters, model.gradients, update);
}

}  // namespace trainyard::networks
