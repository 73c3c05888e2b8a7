#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace trainyard::predict {

struct ModelTensor {
  std::string name;
  Shape shape;
  std::variant<std::vector<float>, std::vector<double>> numbers;  // plain order

  template <typename T>
  const std::vector<T>* as() const {  // null: of another type
    return std::get_if<std::vector<T>>(&numbers);
  }
};

// Any trained model in one file: a header in JSON that says which kind it is, and its tensors behind it.
// docs/formats/model-file.md.
struct ModelContainer {
  std::string schema;       // kind of model: "trainyard-time-model"
  int version = 1;          // of that kind
  std::string description;  // what the kind wants beside its tensors: a JSON object, as text
  std::vector<ModelTensor> tensors;

  const ModelTensor* find(const std::string& name) const;
  // Rows of `columns` numbers, f64. Error (config) begins with '`who`': no such tensor, of another type or
  // shape, more than `most_rows`, a number that is not finite.
  std::span<const double> rows(const std::string& name, std::int64_t columns, std::int64_t most_rows,
                               const std::string& who) const;
};

// Error (config) unless the file holds a model of this kind, in this version.
void want_schema(const ModelContainer& model, const char* schema, int version, const std::string& who);

// Written aside, synced, renamed. Error (io). REQUIRES: shapes and numbers agree, each name once.
void write_model_container(const std::filesystem::path& path, const ModelContainer& model);

// Error (config) begins with the file's name: no model file, another version, cut short, too long, damaged.
// Needs memory in proportion to the bytes, whatever they say.
ModelContainer parse_model_container(std::span<const std::byte> file, const std::string& who);
ModelContainer read_model_container(const std::filesystem::path& path);

}  // namespace trainyard::predict
