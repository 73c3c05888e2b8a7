#include "interchange/read_graph.h"

#include <deque>

#include "base/file.h"
#include "interchange/onnx_batch.h"
#include "interchange/onnx_head.h"
#include "interchange/onnx_import.h"
#include "interchange/onnx_model.h"
#include "interchange/text_format.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

constexpr const char *kImages = "images", *kTokens = "tokens", *kOutput = "logits";
// Names that a training step gives to values of its own.
constexpr const char* kTaken[] = {"labels", "lengths", "ids", "next_ids", "masked_ids", "tokens"};

// Holds the parsed file. The model's tensors point into the mapped file.
struct OpenModel {
  MappedFile file;
  std::string who;
  onnx::Model model;
  std::int64_t own_batch = kUnknown;  // that the file was written for
  std::int64_t look_batch = 1;        // at which it is looked at: its own where it fits no other
  mutable FileWeights weights;

  explicit OpenModel(const std::filesystem::path& path)
      : file(path), who(fmt::format("'{}'", path.string())), weights(who) {
    if (file.bytes() > kMaxFileBytes)
      fail(ErrorKind::config, "{}: {} bytes, at most {}", who, file.bytes(), kMaxFileBytes);
    model = onnx::read_model(
        {reinterpret_cast<const char*>(file.data()), static_cast<std::size_t>(file.bytes())}, who);
  }
};

bool is_weight(const onnx::Model& model, const std::string& value) {
  return std::any_of(model.initializers.begin(), model.initializers.end(),
                     [&](const onnx::Tensor& tensor) { return tensor.name == value; });
}

// Our own export gives weights that have no values as inputs, and says so.
bool is_sample_input(const onnx::Model& model, const onnx::ValueInfo& input) {
  return !is_weight(model, input.name) && input.doc != graph::name(graph::Role::parameter) &&
         input.doc != graph::name(graph::Role::statistic);
}

void rename_value(onnx::Model& model, const std::string& from, const std::string& to) {
  const auto rename = [&](std::string& name) {
    if (name == from && !name.empty())
      name = to;
    else if (name == to)
      name = to + "_of_file";
  };
  for (onnx::Node& node : model.nodes) {
    for (std::string& input : node.inputs) rename(input);
    for (std::string& output : node.outputs) rename(output);
  }
  for (onnx::Tensor& tensor : model.initializers) rename(tensor.name);
  for (auto* values : {&model.inputs, &model.outputs, &model.values})
    for (onnx::ValueInfo& value : *values) rename(value.name);
}

void want_steps(const OpenModel& open, const TensorSpec& spec) {
  const std::size_t steps = open.model.producer == kProducer ? 0 : 1;
  if (spec.dims.size() != 2 || spec.dims[steps] == kUnknown)
    fail(ErrorKind::unsupported,
         "{}: its input is {}, and token ids are (N, steps) with a number of steps that the file says",
         open.who, spec.to_string());
}

// Gives input and output the names that steps know them by, and leaves the batch size open.
void prepare(OpenModel& open) {
  onnx::Model& model = open.model;
  std::vector<onnx::ValueInfo*> inputs;
  for (onnx::ValueInfo& input : model.inputs)
    if (is_sample_input(model, input)) inputs.push_back(&input);
  if (inputs.size() != 1)
    fail(ErrorKind::unsupported,
         "{}: has {} inputs, and a network that runs has one, of images or of token ids", open.who,
         inputs.size());
  TensorSpec& spec = inputs.front()->spec;
  const bool is_tokens = spec.dtype.starts_with('i');
  if (is_tokens) want_steps(open, spec);
  // Our own files read sequences step by step, so that their second dimension is the batch.
  const std::size_t batch = is_tokens && model.producer == kProducer ? 1 : 0;
  if (batch < spec.dims.size()) open.own_batch = spec.dims[batch];
  if (batch == 0) open_reshapes(model, open.own_batch);
  if (batch < spec.dims.size()) spec.dims[batch] = kUnknown;
  if (model.outputs.empty()) fail(ErrorKind::unsupported, "{}: has no output", open.who);
  const std::string input = inputs.front()->name;
  for (const char* taken : kTaken)
    if (input != taken) rename_value(model, "", taken);
  rename_value(model, input, is_tokens ? kTokens : kImages);
  const std::string output = model.outputs.front().name;
  for (onnx::Node& node : model.nodes) {
    const bool last = std::find(node.outputs.begin(), node.outputs.end(), output) != node.outputs.end();
    if (last)
      node.name = kOutput;
    else if (node.name == kOutput || node.name == "loss")
      node.name += "_of_file";
  }
}

// Returns the network as the file has it, when all of its ops are ours.
OnnxNetwork import_network(const OpenModel& open, std::int64_t batch, bool training) {
  OnnxNetwork network =
      import_onnx(open.model, {.batch = batch, .training = training, .weights = &open.weights}, open.who);
  if (!network.obstacles.empty()) {
    const Obstacle& first = network.obstacles.front();
    fail(ErrorKind::unsupported, "{}: node '{}' ({}) cannot be trained: {}", open.who, first.first_node,
         first.type, first.reason);
  }
  if (network.tokens == graph::kNone && (network.tokens = network.graph.find(kTokens)) != graph::kNone)
    network.masked = sees_steps_behind(network.graph);
  return network;
}

bool makes_logits(const OnnxNetwork& network) {
  const graph::Graph& graph = network.graph;
  return graph.outputs().size() == 1 && graph.shape(graph.outputs().front()).rank() == 2;
}

[[noreturn]] void refuse_batch(const OpenModel& open, std::int64_t fixed, std::int64_t batch) {
  fail(ErrorKind::unsupported, "{}: fixes its batch at {}, and {} is {}", open.who, fixed, Setting{"batch"},
       batch);
}

// Returns why the network cannot be trained, or "". `batch` is what it was built for.
std::string obstacle_of(const OpenModel& open, const OnnxNetwork& network, std::int64_t batch) {
  if (std::string obstacle = training_form(network).obstacle; !obstacle.empty()) return obstacle;
  const std::int64_t rows = network.graph.shape(network.graph.outputs().front())[0],
                     wanted = network.tokens != graph::kNone ? batch * network.steps() : batch;
  if (rows == wanted) return "";
  if (open.own_batch != kUnknown) refuse_batch(open, rows * batch / wanted, batch);
  return fmt::format("its output has {} rows for a batch of {}", rows, batch);
}

OnnxNetwork build_at(const OpenModel& open, std::int64_t batch, bool training) {
  OnnxNetwork network = import_network(open, batch, training);
  const bool is_tokens = network.tokens != graph::kNone;
  const graph::ValueId first = is_tokens ? network.tokens : network.graph.find(kImages);
  if (first != graph::kNone)
    if (const std::int64_t fixed = network.graph.shape(first)[is_tokens ? 1 : 0]; fixed != batch)
      refuse_batch(open, fixed, batch);
  const std::string obstacle = obstacle_of(open, network, batch);
  if (training && !obstacle.empty())
    fail(ErrorKind::unsupported, "{}: cannot be trained: {}", open.who, obstacle);
  return network;
}

bool runs_at(const OpenModel& open, std::int64_t batch) {
  try {
    build_at(open, batch, false);
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return false;
  }
}

OnnxNetwork build_network(const OpenModel& open, std::int64_t batch, bool training) {
  try {
    return build_at(open, batch, training);
  } catch (const Error& error) {
    // A node that has the batch in a constant fits no other one: then the reason is the batch.
    const bool is_fixed = error.kind() == ErrorKind::unsupported && open.own_batch >= 1 &&
                          open.own_batch != batch && !runs_at(open, batch) && runs_at(open, open.own_batch);
    if (!is_fixed) throw;
  }
  refuse_batch(open, open.own_batch, batch);
}

// Says whence the first weights are.
std::string note_on_weights(const OnnxNetwork& network) {
  const std::int64_t held = network.numbers_in_file, missing = network.numbers_left_out;
  if (missing == 0) return fmt::format("starts from the {} weights in the file", held);
  if (held == 0) return "the file has no weights: they start from random numbers";
  return fmt::format("starts from the {} weights in the file, {} others from random numbers", held, missing);
}

// Length and vocabulary are those of the file: parameters with one value each.
networks::generator::Generator sequences_of(std::int64_t length, std::int64_t vocabulary, bool masked) {
  using networks::generator::Parameters;
  using networks::generator::SequenceSizes;
  const auto fixed = [](const char* name, const char* about, std::int64_t value) {
    return networks::generator::Parameter{name, about, std::to_string(value), value, value};
  };
  networks::generator::Generator generator{};
  generator.parameters = {fixed("length", "steps of a sequence", length),
                          fixed("vocabulary", "different tokens", vocabulary)};
  generator.input = [](const Parameters& parameters) { return Shape{parameters.number("length")}; };
  generator.sequence = [masked](const Parameters& parameters) {
    return SequenceSizes{parameters.number("length"), parameters.number("vocabulary"), masked};
  };
  return generator;
}

// An image is (C, H, W) or some numbers; of sequences the input is their length.
void describe_input(const OpenModel& open, const OnnxNetwork& network, networks::NetworkFile& found) {
  const graph::Graph& graph = network.graph;
  if (network.tokens != graph::kNone) {
    found.info.input = {network.steps()};
    found.info.preprocess = "";
    found.info.masked = network.masked;
    found.generator = sequences_of(network.steps(), found.info.classes, network.masked);
    found.info.generator = &found.generator;
    return;
  }
  const graph::ValueId images = graph.find(kImages);
  const int rank = images == graph::kNone ? 0 : graph.shape(images).rank();
  if ((rank != 4 && rank != 2) || graph.dtype(images) != DType::f32)
    fail(ErrorKind::unsupported, "{}: its input is {}, and images are f32 (N, C, H, W) or (N, numbers)",
         open.who, images == graph::kNone ? "not read" : graph.value(images).type.to_string());
  for (int axis = 1; axis < rank; ++axis) found.info.input.append(graph.shape(images)[axis]);
}

std::vector<networks::FileWeight> weights_of(const onnx::Model& model, const graph::Graph& graph) {
  std::map<std::string, std::vector<std::int64_t>> dims;
  for (const onnx::ValueInfo& input : model.inputs) dims[input.name] = input.spec.dims;
  for (const onnx::Tensor& tensor : model.initializers) dims[tensor.name] = tensor.dims;
  std::vector<networks::FileWeight> weights;
  for (const graph::Value& value : graph.values()) {
    if (value.role != graph::Role::parameter && value.role != graph::Role::statistic) continue;
    const auto found = dims.find(value.name);
    const Shape& shape = value.type.shape;
    weights.push_back({value.name, found != dims.end()
                                       ? found->second
                                       : std::vector<std::int64_t>(shape.begin(), shape.end())});
  }
  return weights;
}

// Puts the numbers in the place of the weight's, or where it has none. REQUIRES: as many; `content` outlives
// the model.
void replace_content(const std::string& who, onnx::Model& model, const std::string& name,
                     const std::vector<float>& content) {
  const auto named = [&](const auto& one) { return one.name == name; };
  auto tensor = std::find_if(model.initializers.begin(), model.initializers.end(), named);
  if (tensor == model.initializers.end()) {
    const auto input = std::find_if(model.inputs.begin(), model.inputs.end(), named);
    if (input == model.inputs.end())
      fail(ErrorKind::unsupported,
           "{}: weight '{}' is made by a node, so other numbers cannot take its place", who, name);
    model.initializers.push_back({.name = name, .doc = input->doc, .dtype = {}, .dims = input->spec.dims});
    tensor = std::prev(model.initializers.end());
  }
  TRAINYARD_CHECK(tensor->elements() == static_cast<std::int64_t>(content.size()));
  tensor->dtype = "f32";
  tensor->raw = {reinterpret_cast<const char*>(content.data()), content.size() * sizeof(float)};
  tensor->message = {};
  tensor->external = false;
  tensor->numbers.clear();
  if (static_cast<std::int64_t>(content.size()) <= onnx::kReadNumbers)
    tensor->numbers.assign(content.begin(), content.end());
}

// `classes` 0: as many as the file has.
std::shared_ptr<OpenModel> open_prepared(const std::filesystem::path& file, int classes) {
  const auto open = std::make_shared<OpenModel>(file);
  prepare(*open);
  if (open->own_batch > 1 && !runs_at(*open, 1)) open->look_batch = open->own_batch;
  if (classes != 0) {
    const OnnxNetwork network = build_network(*open, open->look_batch, true);
    if (network.tokens != graph::kNone)
      fail(ErrorKind::unsupported, "{}: reads sequences, whose classes are its vocabulary", open->who);
    resize_head(open->model, network.graph, classes, open->who);
  }
  return open;
}

std::map<std::string, graph::Initializer> arranged(
    const std::filesystem::path& file, int classes,
    const std::map<std::string, std::vector<double>>& numbers) {
  const auto open = open_prepared(file, classes);
  std::deque<std::vector<float>> kept;
  for (const auto& [name, content] : numbers)
    replace_content(open->who, open->model, name, kept.emplace_back(content.begin(), content.end()));
  std::map<std::string, graph::Initializer> arranged;
  const OnnxNetwork network = import_network(*open, open->look_batch, true);
  for (const graph::Value& value : network.graph.values())
    if (numbers.contains(value.name)) arranged[value.name] = value.initializer;
  return arranged;
}

void want_trainable(const OpenModel& open, int classes) {
  try {
    build_network(open, open.look_batch, true);
  } catch (const Error& error) {
    fail(ErrorKind::unsupported, "{}: cannot have {} classes: {}", open.who, classes, error.what());
  }
}

std::shared_ptr<const networks::NetworkFile> read_with_classes(const std::filesystem::path& file,
                                                               int classes) {
  const auto open = open_prepared(file, classes);
  if (classes != 0) want_trainable(*open, classes);
  const OnnxNetwork network = import_network(*open, open->look_batch, true);
  const graph::Graph& graph = network.graph;
  const int found_classes =
      makes_logits(network) ? static_cast<int>(graph.shape(graph.outputs().front())[1]) : 1;
  if (classes != 0 && found_classes != classes)
    fail(ErrorKind::unsupported, "{}: cannot have {} classes: what follows its last layer still makes {}",
         open->who, classes, found_classes);
  auto found = std::make_shared<networks::NetworkFile>();
  found->info = {.name = file.string(),
                 .family = "onnx",
                 .description = file.filename().string(),
                 .input = {},
                 .classes = found_classes,
                 .preprocess = "unit"};
  found->obstacle = obstacle_of(*open, network, open->look_batch);
  describe_input(*open, network, *found);
  found->note = note_on_weights(network);
  found->weights = weights_of(open->model, network.graph);
  found->arrange = [file, classes](const std::map<std::string, std::vector<double>>& numbers) {
    return arranged(file, classes, numbers);
  };
  found->with_classes = [file](int wanted) { return read_with_classes(file, wanted); };
  found->build = [open](std::int64_t batch, bool training) {
    return build_network(*open, batch, training).graph;
  };
  return found;
}

}  // namespace

std::shared_ptr<const networks::NetworkFile> read_trainable(const std::filesystem::path& file) {
  if (format_of(file) != Format::onnx)
    fail(ErrorKind::usage, "'{}': the name of an ONNX file ends with .onnx", file.string());
  return read_with_classes(file, 0);
}

void know_onnx_networks() { networks::read_network_files(".onnx", read_trainable); }

}  // namespace trainyard::interchange
