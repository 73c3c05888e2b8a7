#pragma once

#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/standard.h"

// JSON as text. The library's parser and writer are templates, which every source that calls them compiles
// anew, in seconds; these functions are compiled once.
namespace trainyard {

using Json = nlohmann::ordered_json;  // an object keeps the order of its keys
using SortedJson = nlohmann::json;    // finds a key among many quickly

// Hears of each value while a text is read: depth, what begins or ends there, the value. What it throws ends
// the reading; where it returns false the value is left out.
template <typename AnyJson>
using JsonListener = std::function<bool(int depth, nlohmann::detail::parse_event_t, AnyJson& value)>;

// Throws AnyJson::parse_error for a text that is not JSON.
template <typename AnyJson = Json>
AnyJson parse_json(std::string_view text,
                   const std::type_identity_t<JsonListener<AnyJson>>& listener = nullptr);

// Returns a value that is_discarded() for a text that is not JSON.
template <typename AnyJson = Json>
AnyJson parse_json_or_discard(std::string_view text);

// Returns the content of a file. Throws Error (config), or AnyJson::parse_error.
template <typename AnyJson = Json>
AnyJson read_json(const std::filesystem::path& file);

// Returns one line, or lines that are indented by so many spaces a level. Bytes that are no UTF-8 become
// U+FFFD.
template <typename AnyJson>
std::string json_text(const AnyJson& json, int indent = -1);

extern template Json parse_json(std::string_view text, const JsonListener<Json>& listener);
extern template SortedJson parse_json(std::string_view text, const JsonListener<SortedJson>& listener);
extern template Json parse_json_or_discard(std::string_view text);
extern template SortedJson parse_json_or_discard(std::string_view text);
extern template Json read_json(const std::filesystem::path& file);
extern template SortedJson read_json(const std::filesystem::path& file);
extern template std::string json_text(const Json& json, int indent);
extern template std::string json_text(const SortedJson& json, int indent);

}  // namespace trainyard
