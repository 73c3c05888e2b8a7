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

std::vector<OfferedWeight> as_arranged(const std::filesystem::path& path) {
  const std::string who = fmt::format("'{}'", path.string());
  const MappedFile file(path);
  if (file.bytes() > kMaxFileBytes)
    fail(ErrorKind::config, "{}: {} bytes, at most {}", who, file.bytes(), kMaxFileBytes);
  const onnx::Model model = onnx::read_model(
      {reinterpret_cast<const char*>(file.data()), static_cast<std::size_t>(file.bytes())}, who);
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
