#include "interchange/trainable.h"

#include "base/file.h"
#include "interchange/onnx_import.h"
#include "interchange/onnx_model.h"
#include "interchange/read_graph.h"
#include "interchange/text_format.h"
#include "ops/shape.h"

namespace trainyard::interchange {
namespace {

constexpr const char *kInput = "images", *kOutput = "logits";

// Holds the parsed file. The model's tensors point into the mapped file.
struct OpenModel {
  MappedFile file;
  std::string who;
  onnx::Model model;
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
    if (name == from)
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

// Gives input and output the names that steps know them by, and leaves the batch size open.
void prepare(OpenModel& open) {
  onnx::Model& model = open.model;
  std::vector<std::string> inputs;
  for (onnx::ValueInfo& input : model.inputs) {
    if (!is_sample_input(model, input)) continue;
    inputs.push_back(input.name);
    if (!input.spec.dims.empty()) input.spec.dims[0] = kUnknown;
  }
  if (inputs.size() != 1)
    fail(ErrorKind::unsupported, "{}: has {} inputs, and a network that is trained has one, of images",
         open.who, inputs.size());
  if (model.outputs.size() != 1)
    fail(ErrorKind::unsupported, "{}: has {} outputs, and a network that is trained has one, of logits",
         open.who, model.outputs.size());
  rename_value(model, inputs.front(), kInput);
  const std::string output = model.outputs.front().name;
  for (onnx::Node& node : model.nodes) {
    const bool last = std::find(node.outputs.begin(), node.outputs.end(), output) != node.outputs.end();
    if (last)
      node.name = kOutput;
    else if (node.name == kOutput || node.name == "loss")
      node.name += "_of_file";
  }
}

OnnxNetwork build_network(const OpenModel& open, std::int64_t batch, bool training) {
  OnnxNetwork network =
      import_onnx(open.model, {.batch = batch, .training = training, .weights = &open.weights}, open.who);
  if (!network.obstacles.empty()) {
    const Obstacle& first = network.obstacles.front();
    fail(ErrorKind::unsupported, "{}: node '{}' ({}) cannot be trained: {}", open.who, first.first_node,
         first.type, first.reason);
  }
  if (const TrainingForm form = training_form(network); training && !form.obstacle.empty())
    fail(ErrorKind::unsupported, "{}: cannot be trained: {}", open.who, form.obstacle);
  const graph::Graph& graph = network.graph;
  const graph::ValueId logits = graph.outputs().front();
  if (graph.shape(logits)[0] != batch)
    fail(ErrorKind::unsupported, "{}: fixes its batch at {}, and {} is {}", open.who, graph.shape(logits)[0],
         Setting{"batch"}, batch);
  return network;
}

// Says whence the first weights are.
std::string note_on_weights(const OnnxNetwork& network) {
  const std::int64_t held = network.numbers_in_file, missing = network.numbers_left_out;
  if (missing == 0) return fmt::format("starts from the {} weights in the file", held);
  if (held == 0) return "the file has no weights: they start from random numbers";
  return fmt::format("starts from the {} weights in the file, {} others from random numbers", held, missing);
}

}  // namespace

std::shared_ptr<const networks::NetworkFile> read_trainable(const std::filesystem::path& file) {
  if (format_of(file) != Format::onnx)
    fail(ErrorKind::usage, "'{}': the name of an ONNX file ends with .onnx", file.string());
  const auto open = std::make_shared<OpenModel>(file);
  prepare(*open);
  const OnnxNetwork network = build_network(*open, 1, true);
  const graph::Graph& graph = network.graph;
  const graph::ValueId images = graph.find(kInput), logits = graph.outputs().front();
  const Shape& shape = graph.shape(images);
  if (images == graph::kNone || graph.dtype(images) != DType::f32 || (shape.rank() != 4 && shape.rank() != 2))
    fail(ErrorKind::unsupported, "{}: its input is {}, and images are f32 (N, C, H, W) or (N, numbers)",
         open->who, images == graph::kNone ? "not read" : graph.value(images).type.to_string());
  auto found = std::make_shared<networks::NetworkFile>();
  found->info = {.name = file.string(),
                 .family = "onnx",
                 .description = file.filename().string(),
                 .input = {},
                 .classes = static_cast<int>(graph.shape(logits)[1]),
                 .preprocess = "unit"};
  for (int axis = 1; axis < shape.rank(); ++axis) found->info.input.append(shape[axis]);
  found->note = note_on_weights(network);
  found->build = [open](std::int64_t batch, bool training) {
    return build_network(*open, batch, training).graph;
  };
  return found;
}

void know_onnx_networks() { networks::read_network_files(".onnx", read_trainable); }

}  // namespace trainyard::interchange
