#include "record/json_value.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace trainyard::record {

using Json = nlohmann::ordered_json;

Json json_of(double number) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (!std::isfinite(number)) return nullptr;
  if (number == std::floor(number) && std::abs(number) < kExactIntegers)
    return static_cast<std::int64_t>(number);
  return number;
}

Json json_of(const Value& value) {
  return std::visit([](const auto& content) { return Json(content); }, value);
}

Json json_of(const Settings& settings) {
  Json object = Json::object();
  for (const auto& [name, value] : settings) object[name] = json_of(value);
  return object;
}

Value value_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  fail(ErrorKind::config, "settings: {} given, a number, a word or true/false expected", json.dump());
}

Settings settings_of(const Json& json) {
  if (!json.is_object()) fail(ErrorKind::config, "settings: {} given, an object expected", json.dump());
  Settings settings;
  for (const auto& [name, value] : json.items()) settings[name] = value_of(value);
  return settings;
}

std::string to_json(const Settings& settings) { return json_of(settings).dump(); }

Settings settings_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::config, "settings: '{}' is not JSON", text);
  return settings_of(json);
}

}  // namespace trainyard::record
