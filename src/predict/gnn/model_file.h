#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "predict/gnn/named_tensor.h"
#include "predict/model_container.h"

namespace trainyard::predict {

// What is stored of a graph network: settings and weights. docs/formats/model-file.md.
struct ModelFile {
  std::string schema;
  std::vector<std::pair<std::string, std::string>> settings;  // name and value, as text
  std::vector<NamedTensor> tensors;
};

ModelContainer to_container(const ModelFile& model);
// Error (config) begins with '`who`': a setting that is no text, a tensor that is not f32.
ModelFile parse_model_file(const ModelContainer& container, const std::string& who);

// As write_model_container and read_model_container.
void write_model_file(const std::filesystem::path& path, const ModelFile& model);
ModelFile read_model_file(const std::filesystem::path& path);

}  // namespace trainyard::predict
