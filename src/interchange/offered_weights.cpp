#include <deque>

#include "base/file.h"
#include "interchange/given_weights.h"
#include "interchange/onnx_import.h"
#include "interchange/text_format.h"
#include "weights/weight_file.h"

namespace trainyard::interchange {
namespace {

std::vector<OfferedWeight> offered_by(const std::shared_ptr<const weights::WeightFile>& file) {
  std::vector<OfferedWeight> offered;
  for (const weights::Tensor& tensor : file->tensors())
    offered.push_back({tensor.name, weights::name(tensor.element), tensor.dims,
                       [file, &tensor] { return weights::numbers_of(tensor); }});
  return offered;
}

// Networks of f16 are none of ours, but their weights are the same numbers in f32. `kept` outlives the model.
void widen(onnx::Model& model, const std::string& who, std::deque<std::vector<float>>& kept) {
  for (onnx::Tensor& tensor : model.initializers) {
    if (tensor.dtype != "f16") continue;
    const std::vector<double> numbers = read_content(tensor, who);
    const std::vector<float>& floats = kept.emplace_back(numbers.begin(), numbers.end());
    tensor.dtype = "f32";
    tensor.message = {};
    tensor.raw = {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)};
  }
  for (auto* values : {&model.inputs, &model.outputs, &model.values})
    for (onnx::ValueInfo& value : *values)
      if (value.spec.dtype == "f16") value.spec.dtype = "f32";
}

std::vector<OfferedWeight> as_arranged(const std::filesystem::path& path) {
  const std::string who = fmt::format("'{}'", path.string());
  const MappedFile file(path);
  if (file.bytes() > kMaxFileBytes)
    fail(ErrorKind::config, "{}: {} bytes, at most {}", who, file.bytes(), kMaxFileBytes);
  onnx::Model model = onnx::read_model(
      {reinterpret_cast<const char*>(file.data()), static_cast<std::size_t>(file.bytes())}, who);
  std::deque<std::vector<float>> kept;
  widen(model, who, kept);
  FileWeights weights(who);
  const OnnxNetwork network = import_onnx(model, {.training = false, .weights = &weights}, who);
  if (!network.obstacles.empty()) {
    const Obstacle& first = network.obstacles.front();
    fail(ErrorKind::unsupported, "{}: node '{}' ({}) is none of ours, so its weights cannot be arranged: {}",
         who, first.first_node, first.type, first.reason);
  }
  std::vector<OfferedWeight> offered;
  for (const graph::Value& value : network.graph.values()) {
    const bool is_state = value.role == graph::Role::parameter || value.role == graph::Role::statistic;
    if (!is_state || value.initializer.kind != graph::Initializer::Kind::listed) continue;
    offered.push_back({value.name,
                       trainyard::name(value.type.dtype),
                       {value.type.shape.begin(), value.type.shape.end()},
                       [numbers = value.initializer.numbers] { return *numbers; }});
  }
  return offered;
}

}  // namespace

OfferedWeights read_offered_weights(const std::filesystem::path& file) {
  if (file.extension() == ".onnx") return {file.string(), true, as_arranged(file)};
  return {file.string(), false, offered_by(std::make_shared<const weights::WeightFile>(file))};
}

}  // namespace trainyard::interchange
