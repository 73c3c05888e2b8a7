#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace trainyard::predict {

// JsonMembers reads members of one JSON object of a model's header, and checks their bounds. Error (config)
// names the place, the member and the allowed values.
class JsonMembers {
 public:
  // Takes text that was parsed before, as a ModelContainer's is; errors begin with `where`.
  JsonMembers(std::string_view text, std::string where);

  double number(const char* key, double least, double most) const;
  std::string text(const char* key) const;  // not empty
  std::vector<std::string> texts(const char* key, std::size_t most) const;
  JsonMembers object(const char* key) const;
  std::vector<JsonMembers> objects(const char* key, std::size_t most) const;
  std::vector<std::pair<std::string, std::string>> all_texts() const;  // every member must be one

  [[noreturn]] void refuse(const std::string& key, const std::string& wanted) const;

 private:
  using Json = std::shared_ptr<const nlohmann::json>;  // a part keeps the whole alive
  JsonMembers(Json json, std::string where);
  const nlohmann::json& array(const char* key, std::size_t most) const;

  Json json_;
  std::string where_;
};

}  // namespace trainyard::predict
