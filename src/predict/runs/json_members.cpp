#include "predict/runs/json_members.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace trainyard::predict {

JsonMembers::JsonMembers(std::string_view text, std::string where)
    : JsonMembers(std::make_shared<const nlohmann::json>(nlohmann::json::parse(text, nullptr, false)),
                  std::move(where)) {}

JsonMembers::JsonMembers(Json json, std::string where) : json_(std::move(json)), where_(std::move(where)) {
  if (!json_->is_object()) refuse("", "an object");
}

void JsonMembers::refuse(const std::string& key, const std::string& wanted) const {
  fail(ErrorKind::config, "{}{}{}: wants {}", where_, key.empty() ? "" : ".", key, wanted);
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

const nlohmann::json& JsonMembers::array(const char* key, std::size_t most) const {
  const auto at = json_->find(key);
  if (at == json_->end() || !at->is_array() || at->size() > most)
    refuse(key, fmt::format("an array of at most {}", most));
  return *at;
}

std::vector<std::string> JsonMembers::texts(const char* key, std::size_t most) const {
  std::vector<std::string> texts;
  for (const nlohmann::json& one : array(key, most)) {
    if (!one.is_string()) refuse(key, "texts");
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

JsonMembers JsonMembers::object(const char* key) const {
  const auto at = json_->find(key);
  if (at == json_->end()) refuse(key, "an object");
  return {Json(json_, &*at), where_ + "." + key};
}

std::vector<JsonMembers> JsonMembers::objects(const char* key, std::size_t most) const {
  std::vector<JsonMembers> objects;
  for (const nlohmann::json& one : array(key, most))
    objects.push_back(JsonMembers(Json(json_, &one), where_ + "." + key));
  return objects;
}

std::vector<std::pair<std::string, std::string>> JsonMembers::all_texts() const {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [key, value] : json_->items()) texts.emplace_back(key, text(key.c_str()));
  return texts;
}

}  // namespace trainyard::predict
