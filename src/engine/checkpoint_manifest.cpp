#include "base/json.h"
#include "engine/checkpoint.h"

#include "base/crc32c.h"
#include "base/error.h"

namespace trainyard::engine {
namespace {

constexpr const char* kFormat = "trainyard checkpoint";
constexpr int kVersion = 1;
constexpr const char* kSum = "manifest_crc32c";
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;

constexpr graph::Role kRoles[] = {graph::Role::parameter, graph::Role::statistic,
                                  graph::Role::optimizer_state};
constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i32, DType::u8};

template <typename T, std::size_t kCount>
T by_name(const T (&all)[kCount], const std::string& wanted) {
  for (const T each : all)
    if (wanted == name(each)) return each;
  throw std::invalid_argument("unknown word '" + wanted + "'");
}

// The checksum recurses once per level of the parsed text, so the depth is limited.
bool limit_depth(int depth, JsonEvent, const Json&) {
  constexpr int kDeepest = 16;
  if (depth > kDeepest) throw std::invalid_argument("nested too deeply");
  return true;
}

std::uint32_t sum_of(const Json& json) {
  const std::string text = json_text(json);
  return crc32c(text.data(), text.size());
}

Json to_json(const StoredTensor& tensor) {
  return {{"name", tensor.name},
          {"role", graph::name(tensor.role)},
          {"dtype", name(tensor.type.dtype)},
          {"shape", std::vector(tensor.type.shape.begin(), tensor.type.shape.end())},
          {"offset", tensor.offset},
          {"bytes", tensor.type.bytes()},
          {"crc32c", tensor.crc32c}};
}

StoredTensor to_tensor(const Json& json) {
  StoredTensor tensor;
  json.at("name").get_to(tensor.name);
  tensor.role = by_name(kRoles, json.at("role").get<std::string>());
  tensor.type.dtype = by_name(kDTypes, json.at("dtype").get<std::string>());
  const Json& shape = json.at("shape");
  if (shape.size() > Shape::kMaxRank) throw std::invalid_argument("a tensor of too many dimensions");
  std::int64_t elements = 1;
  for (const Json& dim : shape) {
    const auto size = dim.get<std::int64_t>();
    if (size < 0 || (size > 0 && elements > kMostElements / size))
      throw std::invalid_argument("an impossible shape");
    tensor.type.shape.append(size);
    elements *= size;
  }
  json.at("offset").get_to(tensor.offset);
  json.at("crc32c").get_to(tensor.crc32c);
  if (json.at("bytes") != tensor.type.bytes()) throw std::invalid_argument("bytes and shape do not agree");
  return tensor;
}

}  // namespace

std::string manifest_to_text(const CheckpointManifest& manifest) {
  Json asked = Json::object();
  for (const auto& [key, value] : manifest.header.asked) asked[key] = value;
  Json reached = Json::object();
  for (const auto& [key, value] : manifest.header.reached) reached[key] = value;
  Json tensors = Json::array();
  for (const StoredTensor& tensor : manifest.tensors) tensors.push_back(to_json(tensor));
  Json json{{"format", kFormat},
            {"version", kVersion},
            {"network", manifest.header.network},
            {"step", manifest.header.step},
            {"seed", manifest.header.seed},
            {"first_loss", manifest.header.first_loss},
            {"asked", asked},
            {"tensors_bytes", manifest.tensors_bytes},
            {"tensors", tensors}};
  if (!reached.empty()) json["reached"] = reached;
  json[kSum] = sum_of(json);
  return json_text(json, 1) + "\n";
}

CheckpointManifest parse_manifest(const std::string& text, const std::filesystem::path& path) {
  try {
    Json json = parse_json(text, limit_depth);
    if (!json.is_object() || json.value("format", "") != kFormat)
      throw std::invalid_argument("not a checkpoint's manifest");
    if (json.at("version") != kVersion)
      fail(ErrorKind::config, "'{}': unknown version {}, {} expected", path.string(),
           json_text(json["version"]), kVersion);
    const auto sum = json.at(kSum).get<std::uint32_t>();
    json.erase(kSum);
    if (sum_of(json) != sum) throw std::invalid_argument("checksum mismatch");
    CheckpointManifest manifest;
    CheckpointHeader& header = manifest.header;
    json.at("network").get_to(header.network);
    json.at("step").get_to(header.step);
    json.at("seed").get_to(header.seed);
    json.at("first_loss").get_to(header.first_loss);
    for (const auto& [key, value] : json.at("asked").items())
      header.asked.emplace_back(key, value.get<std::string>());
    const Json reached = json.value("reached", Json::object());  // items() does not keep it
    for (const auto& [key, value] : reached.items())
      header.reached.emplace_back(key, value.get<std::string>());
    json.at("tensors_bytes").get_to(manifest.tensors_bytes);
    for (const Json& tensor : json.at("tensors")) manifest.tensors.push_back(to_tensor(tensor));
    return manifest;
  } catch (const Json::SyntaxError&) {
    fail(ErrorKind::config, "'{}' is damaged: not whole JSON", path.string());
  } catch (const Json::Error& error) {
    fail(ErrorKind::config, "'{}' is damaged: {}", path.string(), error.what());
  } catch (const std::invalid_argument& error) {
    fail(ErrorKind::config, "'{}' is damaged: {}", path.string(), error.what());
  }
}

}  // namespace trainyard::engine
