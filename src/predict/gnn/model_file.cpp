#include "predict/gnn/model_file.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "predict/json_members.h"

namespace trainyard::predict {

ModelContainer to_container(const ModelFile& model) {
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (const auto& [key, value] : model.settings) settings[key] = value;
  ModelContainer container{.schema = model.schema, .description = settings.dump(), .tensors = {}};
  for (const NamedTensor& tensor : model.tensors)
    container.tensors.push_back({tensor.name, tensor.shape, tensor.numbers});
  return container;
}

ModelFile parse_model_file(const ModelContainer& container, const std::string& who) {
  const JsonMembers settings(container.description, fmt::format("'{}'", who));
  ModelFile model{container.schema, settings.all_texts(), {}};
  for (const ModelTensor& tensor : container.tensors) {
    const std::vector<float>* numbers = tensor.as<float>();
    if (numbers == nullptr)
      fail(ErrorKind::config, "'{}': tensor '{}' is of f64, wants f32", who, tensor.name);
    model.tensors.push_back({tensor.name, tensor.shape, *numbers});
  }
  return model;
}

void write_model_file(const std::filesystem::path& path, const ModelFile& model) {
  write_model_container(path, to_container(model));
}

ModelFile read_model_file(const std::filesystem::path& path) {
  return parse_model_file(read_model_container(path), path.string());
}

}  // namespace trainyard::predict
