#pragma once

#include <variant>

#include "tensor/tensor.h"

namespace trainyard {
class Json;
}

namespace trainyard::predict {

// JsonMembers reads members of one JSON object of a model's header, and checks their bounds. Error (config)
// names the place, the member and the allowed values.
class JsonMembers {
 public:
  // Takes text that was parsed before, as a ModelContainer's is; errors begin with `where`.
  JsonMembers(std::string_view text, std::string where);

  bool has(const char* key) const;
  double number(const char* key, double least, double most) const;
  // Returns the members, each a number within the bounds.
  std::map<std::string, double> numbers(double least, double most) const;
  std::string text(const char* key) const;  // not empty
  std::vector<std::string> texts(const char* key, std::size_t most) const;
  JsonMembers object(const char* key) const;
  std::vector<JsonMembers> objects(const char* key, std::size_t most) const;
  std::vector<std::pair<std::string, std::string>> all_texts() const;  // every member must be one

  [[noreturn]] void refuse(const std::string& key, const std::string& wanted) const;

 private:
  using Part = std::shared_ptr<const Json>;  // a part keeps the whole alive
  JsonMembers(Part json, std::string where);
  const Json& array(const char* key, std::size_t most) const;

  Part json_;
  std::string where_;
};

struct ModelTensor {
  std::string name;
  Shape shape;
  std::variant<std::vector<float>, std::vector<double>> numbers;  // plain order

  template <typename T>
  const std::vector<T>* as() const {  // null: of another type
    return std::get_if<std::vector<T>>(&numbers);
  }
};

// ModelContainer is any trained model in one file: a JSON header that names its kind, and its tensors behind
// it. docs/formats/model-file.md.
struct ModelContainer {
  std::string schema;       // kind of model: "trainyard-time-model"
  int version = 1;          // of that kind
  std::string description;  // what the kind wants beside its tensors: a JSON object, as text
  std::vector<ModelTensor> tensors;

  const ModelTensor* find(const std::string& name) const;
  // Returns rows of `columns` numbers, f64. Throws Error (config), beginning with '`who`', for a missing
  // tensor, another type or shape, more than `most_rows`, or a number that is not finite.
  std::span<const double> rows(const std::string& name, std::int64_t columns, std::int64_t most_rows,
                               const std::string& who) const;
};

// Throws Error (config) unless the file holds a model of this kind, in this version.
void want_schema(const ModelContainer& model, const char* schema, int version, const std::string& who);

// Writes to a temporary file, syncs and renames. Throws Error (io). REQUIRES: shapes and numbers agree, each
// name once.
void write_model_container(const std::filesystem::path& path, const ModelContainer& model);

// Throws Error (config), beginning with the file's name, for no model file, another version, or a file that
// is cut short, too long or damaged. Memory use is proportional to the bytes, whatever they hold.
ModelContainer parse_model_container(std::span<const std::byte> file, const std::string& who);
ModelContainer read_model_container(const std::filesystem::path& path);

}  // namespace trainyard::predict
