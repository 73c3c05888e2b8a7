#include "predict/runs/model_container.h"

#include "base/crc32c.h"
#include "base/file.h"
#include "base/json.h"
#include "predict/runs/packed_columns.h"

namespace trainyard::predict {

JsonMembers::JsonMembers(std::string_view text, std::string where)
    : JsonMembers(std::make_shared<const Json>(parse_json_or_discard(text)), std::move(where)) {}

JsonMembers::JsonMembers(Part json, std::string where) : json_(std::move(json)), where_(std::move(where)) {
  if (!json_->is_object()) refuse("", "an object");
}

void JsonMembers::refuse(const std::string& key, const std::string& wanted) const {
  fail(ErrorKind::config, "{}{}{}: wants {}", where_, key.empty() ? "" : ".", key, wanted);
}

bool JsonMembers::has(const char* key) const { return json_->contains(key); }

std::map<std::string, double> JsonMembers::numbers(double least, double most) const {
  std::map<std::string, double> numbers;
  for (const auto& [key, value] : json_->items()) numbers[key] = number(key.c_str(), least, most);
  return numbers;
}

double JsonMembers::number(const char* key, double least, double most) const {
  const auto at = json_->find(key);
  if (at == json_->end() || !at->is_number()) refuse(key, "a number");
  const double value = at->get<double>();
  if (!(value >= least && value <= most)) refuse(key, fmt::format("a number from {} to {}", least, most));
  return value;
}

std::string JsonMembers::text(const char* key) const {
  const auto at = json_->find(key);
  if (at == json_->end() || !at->is_string() || at->get<std::string>().empty()) refuse(key, "a text");
  return at->get<std::string>();
}

const Json& JsonMembers::array(const char* key, std::size_t most) const {
  const auto at = json_->find(key);
  if (at == json_->end() || !at->is_array() || at->size() > most)
    refuse(key, fmt::format("an array of at most {}", most));
  return *at;
}

std::vector<std::string> JsonMembers::texts(const char* key, std::size_t most) const {
  std::vector<std::string> texts;
  for (const Json& one : array(key, most)) {
    if (!one.is_string()) refuse(key, "texts");
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

JsonMembers JsonMembers::object(const char* key) const {
  const auto at = json_->find(key);
  if (at == json_->end()) refuse(key, "an object");
  return {Part(json_, &*at), where_ + "." + key};
}

std::vector<JsonMembers> JsonMembers::objects(const char* key, std::size_t most) const {
  std::vector<JsonMembers> objects;
  for (const Json& one : array(key, most))
    objects.push_back(JsonMembers(Part(json_, &one), where_ + "." + key));
  return objects;
}

std::vector<std::pair<std::string, std::string>> JsonMembers::all_texts() const {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [key, value] : json_->items()) texts.emplace_back(key, text(key.c_str()));
  return texts;
}

namespace {

// The type is sorted, because a reader must not be slow on a header of very many names.

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

constexpr std::string_view kMagic = "TRAINYARD MODEL\n";
// Files of version 2 have no packed tensors.
constexpr std::uint32_t kContainerVersion = 3, kOldestVersion = 2;
constexpr std::size_t kPrefixBytes = 32;  // magic, version, checksum and bytes of the header
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{1} << 24;
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

template <typename T>
T number_at(std::span<const std::byte> file, std::size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

// RawTensor is the bytes of a tensor, and their type.
struct RawTensor {
  const void* data;
  std::size_t bytes;
  DType dtype;
};
RawTensor raw(const ModelTensor& tensor) {
  return std::visit(
      [](const auto& numbers) -> RawTensor {
        using T = typename std::decay_t<decltype(numbers)>::value_type;
        return {numbers.data(), numbers.size() * sizeof(T), DTypeOf<T>::value};
      },
      tensor.numbers);
}

// The depth is limited, because values are destroyed and written by one call a level.
bool limit_depth(int depth, JsonEvent, const Json&) {
  constexpr int kDeepest = 16;
  if (depth > kDeepest) throw std::invalid_argument("nested too deeply");
  return true;
}

// Accepts whole, non-negative numbers. Numbers with a point could be out of range of the cast.
std::int64_t whole(const Json& json, std::int64_t most) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
    throw std::invalid_argument(fmt::format("a number is not whole, from 0 to {}", most));
  return json.get<std::int64_t>();
}

struct Header {
  Json json;
  std::size_t end = 0;  // where tensors begin
};

Header read_header(std::span<const std::byte> file, const std::string& who) {
  if (!file.empty() && (file[0] == std::byte{'{'} || file[0] == std::byte{'['}))
    fail(ErrorKind::config, "'{}': is JSON, as models of time were once; `predict fit` makes a new one", who);
  if (file.size() < kPrefixBytes || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0)
    fail(ErrorKind::config, "'{}': is no model file", who);
  if (const auto version = number_at<std::uint32_t>(file, 16);
      version < kOldestVersion || version > kContainerVersion)
    fail(ErrorKind::config, "'{}': version {} of a model file, {} to {} expected", who, version,
         kOldestVersion, kContainerVersion);
  const auto bytes = number_at<std::uint64_t>(file, 24);
  if (bytes > kMostHeaderBytes)
    fail(ErrorKind::config, "'{}': is damaged: its header would have {} bytes", who, bytes);
  if (bytes > file.size() - kPrefixBytes) fail(ErrorKind::config, "'{}': is cut short in its header", who);
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kPrefixBytes,
                              static_cast<std::size_t>(bytes));
  if (crc32c(text.data(), text.size()) != number_at<std::uint32_t>(file, 20))
    fail(ErrorKind::config, "'{}': is damaged: checksum mismatch in its header", who);
  return {parse_json(text, limit_depth), kPrefixBytes + text.size()};
}

// TensorReader takes tensors one after the other from the bytes behind the header.
class TensorReader {
 public:
  explicit TensorReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  ModelTensor next(const Json& json) {
    ModelTensor tensor;
    json.at("name").get_to(tensor.name);
    if (!names_.insert(tensor.name).second) throw std::invalid_argument("two tensors '" + tensor.name + "'");
    const Json& shape = json.at("shape");
    if (!shape.is_array() || shape.size() > Shape::kMaxRank)
      throw std::invalid_argument("a tensor of too many dimensions");
    std::int64_t most = 1;  // elements, were no dimension zero
    for (const Json& dim : shape) {
      const std::int64_t size = whole(dim, kMostElements);
      if (size > 0 && most > kMostElements / size) throw std::invalid_argument("an impossible shape");
      tensor.shape.append(size);
      most *= std::max<std::int64_t>(size, 1);
    }
    const std::int64_t elements = tensor.shape.elements();
    const auto dtype = json.at("dtype").get<std::string>();
    const auto sum =
        static_cast<std::uint32_t>(whole(json.at("crc32c"), std::numeric_limits<std::uint32_t>::max()));
    if (const auto packed = json.find("packed_bytes"); packed != json.end()) {
      if (dtype != name(DType::f64) || tensor.shape.rank() != 2)
        throw std::invalid_argument(fmt::format("tensor '{}' is packed and has no rows of f64", tensor.name));
      const std::span<const std::byte> bytes =
          take(tensor.name, static_cast<std::size_t>(whole(*packed, kMostElements)), sum);
      tensor.numbers = unpack_columns(bytes, static_cast<std::size_t>(tensor.shape[0]),
                                      static_cast<std::size_t>(tensor.shape[1]));
    } else if (dtype == name(DType::f32))
      tensor.numbers = numbers<float>(tensor.name, static_cast<std::size_t>(elements), sum);
    else if (dtype == name(DType::f64))
      tensor.numbers = numbers<double>(tensor.name, static_cast<std::size_t>(elements), sum);
    else
      throw std::invalid_argument("unknown dtype '" + dtype + "'");
    return tensor;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> take(const std::string& name, std::size_t bytes, std::uint32_t sum) {
    if (bytes > bytes_.size())
      throw std::invalid_argument(
          fmt::format("cut short: tensor '{}' has {} bytes, {} are left", name, bytes, bytes_.size()));
    if (crc32c(bytes_.data(), bytes) != sum)
      throw std::invalid_argument("checksum mismatch in tensor '" + name + "'");
    const std::span<const std::byte> taken = bytes_.first(bytes);
    bytes_ = bytes_.subspan(bytes);
    return taken;
  }
  template <typename T>
  std::vector<T> numbers(const std::string& name, std::size_t count, std::uint32_t sum) {
    const std::span<const std::byte> bytes = take(name, count * sizeof(T), sum);
    std::vector<T> numbers(count);
    if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }

  std::span<const std::byte> bytes_;
  std::set<std::string> names_;
};

}  // namespace

const ModelTensor* ModelContainer::find(const std::string& name) const {
  for (const ModelTensor& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

std::span<const double> ModelContainer::rows(const std::string& name, std::int64_t columns,
                                             std::int64_t most_rows, const std::string& who) const {
  const ModelTensor* tensor = find(name);
  if (tensor == nullptr) fail(ErrorKind::config, "'{}': tensor '{}' is missing", who, name);
  const std::vector<double>* numbers = tensor->as<double>();
  const Shape& shape = tensor->shape;
  if (numbers == nullptr || shape.rank() != 2 || shape[1] != columns || shape[0] > most_rows)
    fail(ErrorKind::config, "'{}': tensor '{}' is {} of {}, wants f64, at most {} rows of {}", who, name,
         shape.to_string(), numbers == nullptr ? "f32" : "f64", most_rows, columns);
  if (!std::all_of(numbers->begin(), numbers->end(), [](double x) { return std::isfinite(x); }))
    fail(ErrorKind::config, "'{}': tensor '{}' has a number that is not finite", who, name);
  return *numbers;
}

void want_schema(const ModelContainer& model, const char* schema, int version, const std::string& who) {
  if (model.schema != schema)
    fail(ErrorKind::config, "'{}': a model of kind '{}', wants '{}'", who, model.schema, schema);
  if (model.version != version)
    fail(ErrorKind::config, "'{}': version {} of a '{}', {} expected; `predict fit` makes one of today's",
         who, model.version, schema, version);
}

namespace {

// WrittenTensor is a tensor's bytes in the file. Where rows of numbers take less when they are packed, they
// are.
struct WrittenTensor {
  const ModelTensor& tensor;
  RawTensor plain;
  std::vector<std::byte> packed;

  std::span<const std::byte> bytes() const {
    return packed.empty() ? std::span(static_cast<const std::byte*>(plain.data), plain.bytes) : packed;
  }
};

WrittenTensor written(const ModelTensor& tensor) {
  WrittenTensor made{tensor, raw(tensor), {}};
  TRAINYARD_CHECK(made.plain.bytes ==
                  static_cast<std::size_t>(tensor.shape.elements()) * size_of(made.plain.dtype));
  const std::vector<double>* numbers = tensor.as<double>();
  if (numbers == nullptr || tensor.shape.rank() != 2 || numbers->empty()) return made;
  made.packed = pack_columns(*numbers, static_cast<std::size_t>(tensor.shape[1]));
  if (made.packed.size() >= made.plain.bytes) made.packed.clear();
  return made;
}

Json json_of(const WrittenTensor& written) {
  const std::span<const std::byte> bytes = written.bytes();
  Json json{{"name", written.tensor.name},
            {"dtype", name(written.plain.dtype)},
            {"shape", std::vector(written.tensor.shape.begin(), written.tensor.shape.end())},
            {"crc32c", crc32c(bytes.data(), bytes.size())}};
  if (!written.packed.empty()) json["packed_bytes"] = bytes.size();
  return json;
}

}  // namespace

void write_model_container(const std::filesystem::path& path, const ModelContainer& model) {
  std::vector<WrittenTensor> all;
  Json tensors = Json::array();
  for (const ModelTensor& tensor : model.tensors) {
    all.push_back(written(tensor));
    tensors.push_back(json_of(all.back()));
  }
  const std::string header = json_text(Json{{"schema", model.schema},
                                            {"version", model.version},
                                            {"model", parse_json(model.description)},
                                            {"tensors", tensors}}) +
                             "\n";
  TRAINYARD_CHECK(header.size() <= kMostHeaderBytes);
  const std::uint32_t version[] = {kContainerVersion, crc32c(header.data(), header.size())};
  const std::uint64_t header_bytes = header.size();
  AtomicFile file(path);
  file.write(kMagic);
  file.write(version, sizeof version);
  file.write(&header_bytes, sizeof header_bytes);
  file.write(header);
  for (const WrittenTensor& tensor : all) file.write(tensor.bytes().data(), tensor.bytes().size());
  file.commit();
}

ModelContainer parse_model_container(std::span<const std::byte> file, const std::string& who) {
  try {
    const Header header = read_header(file, who);
    ModelContainer model;
    header.json.at("schema").get_to(model.schema);
    model.version = static_cast<int>(whole(header.json.at("version"), std::numeric_limits<int>::max()));
    const Json& description = header.json.at("model");
    if (!description.is_object()) throw std::invalid_argument("its model is no object");
    model.description = json_text(description);
    TensorReader reader(file.subspan(header.end));
    for (const Json& tensor : header.json.at("tensors")) model.tensors.push_back(reader.next(tensor));
    if (reader.left() > 0)
      throw std::invalid_argument(fmt::format("too long: {} bytes behind its tensors", reader.left()));
    return model;
  } catch (const Json::SyntaxError&) {
    fail(ErrorKind::config, "'{}': is damaged: its header is no whole JSON", who);
  } catch (const Json::Error& error) {
    fail(ErrorKind::config, "'{}': is damaged: {}", who, error.what());
  } catch (const std::invalid_argument& error) {
    fail(ErrorKind::config, "'{}': is damaged: {}", who, error.what());
  }
}

ModelContainer read_model_container(const std::filesystem::path& path) {
  return parse_model_container(read_file(path), path.string());
}

}  // namespace trainyard::predict
