#include "predict/gnn/model.h"

#include "base/error.h"
#include "predict/gnn/network.h"

namespace trainyard::predict {
const NamedTensor* GnnModel::find(const std::string& name) const {
  for (const NamedTensor& tensor : parameters)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

std::int64_t GnnModel::parameter_count() const {
  std::int64_t count = 0;
  for (const NamedTensor& tensor : parameters) count += tensor.shape.elements();
  return count;
}

ModelFile to_file(const GnnModel& model) {
  ModelFile file{kGraphModelSchema, to_settings(model.architecture), model.parameters};
  for (auto& setting : to_settings(model.scaling)) file.settings.push_back(std::move(setting));
  return file;
}

GnnModel parse_model(const ModelFile& file, const std::string& who) {
  if (file.schema != kGraphModelSchema)
    fail(ErrorKind::config, "'{}': a model of kind '{}', wants '{}'", who, file.schema, kGraphModelSchema);
  GnnModel model;
  model.architecture = parse_architecture(file.settings, who);
  model.scaling = parse_scaling(file.settings, model.architecture, who);
  const auto shapes = parameter_shapes(model.architecture);
  for (const auto& [name, shape] : shapes) {
    for (const NamedTensor& tensor : file.tensors)
      if (tensor.name == name) model.parameters.push_back(tensor);
    if (model.parameters.empty() || model.parameters.back().name != name)
      fail(ErrorKind::config, "'{}': tensor '{}' is missing", who, name);
    if (!(model.parameters.back().shape == shape))
      fail(ErrorKind::config, "'{}': tensor '{}' is {}, wants {}", who, name,
           model.parameters.back().shape.to_string(), shape.to_string());
  }
  if (file.tensors.size() != shapes.size())
    fail(ErrorKind::config, "'{}': {} tensors, wants {}", who, file.tensors.size(), shapes.size());
  return model;
}

void save_model(const std::filesystem::path& path, const GnnModel& model) {
  write_model_file(path, to_file(model));
}

GnnModel load_model(const std::filesystem::path& path) {
  return parse_model(read_model_file(path), path.string());
}

}  // namespace trainyard::predict
