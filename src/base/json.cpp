#include "base/json.h"

#include "base/file.h"

namespace trainyard {

template <typename AnyJson>
AnyJson parse_json(std::string_view text, const std::type_identity_t<JsonListener<AnyJson>>& listener) {
  return AnyJson::parse(text, listener);
}

template <typename AnyJson>
AnyJson parse_json_or_discard(std::string_view text) {
  return AnyJson::parse(text, nullptr, false);
}

template <typename AnyJson>
AnyJson read_json(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  return parse_json<AnyJson>({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

template <typename AnyJson>
std::string json_text(const AnyJson& json, int indent) {
  return json.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

template Json parse_json(std::string_view text, const JsonListener<Json>& listener);
template SortedJson parse_json(std::string_view text, const JsonListener<SortedJson>& listener);
template Json parse_json_or_discard(std::string_view text);
template SortedJson parse_json_or_discard(std::string_view text);
template Json read_json(const std::filesystem::path& file);
template SortedJson read_json(const std::filesystem::path& file);
template std::string json_text(const Json& json, int indent);
template std::string json_text(const SortedJson& json, int indent);

}  // namespace trainyard
