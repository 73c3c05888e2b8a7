#include "base/json.h"

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
std::string json_text(const AnyJson& json, int indent) {
  return json.dump(indent, ' ', false, AnyJson::error_handler_t::replace);
}

template Json parse_json(std::string_view text, const JsonListener<Json>& listener);
template SortedJson parse_json(std::string_view text, const JsonListener<SortedJson>& listener);
template Json parse_json_or_discard(std::string_view text);
template SortedJson parse_json_or_discard(std::string_view text);
template std::string json_text(const Json& json, int indent);
template std::string json_text(const SortedJson& json, int indent);

}  // namespace trainyard
