#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "predict/gnn/named_tensor.h"

namespace trainyard::predict {

// A trained model in one file: a checkpoint's manifest and its tensors behind it. docs/formats/model-file.md.
struct ModelFile {
  std::string kind;                                           // what may read it: "gnn"
  std::vector<std::pair<std::string, std::string>> settings;  // name and value, as text
  std::vector<NamedTensor> tensors;
};

// Written aside, synced, renamed. Error (io).
void write_model_file(const std::filesystem::path& path, const ModelFile& model);

// Error (config) begins with the file's name: no model file, another version, cut short, too long, damaged.
ModelFile parse_model_file(std::span<const std::byte> file, const std::string& who);
ModelFile read_model_file(const std::filesystem::path& path);

}  // namespace trainyard::predict
