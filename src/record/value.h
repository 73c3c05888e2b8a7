#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json_fwd.hpp>

namespace trainyard::record {

// Value is the type of an entry in a study file, an option on a command line or a fact about the machine.
using Value = std::variant<bool, std::int64_t, double, std::string>;

// Settings holds the settings of a run by name ("network", "batch", "threads", ...): one point of a study's
// matrix.
using Settings = std::map<std::string, Value>;

// Returns the shortest text that reads back as the same value: true, 50, 0.001, adam.
std::string to_text(const Value& value);

// Returns the narrowest type that fits the whole text: "50" an integer, "1e-3" a number, "true" a boolean,
// else text.
Value to_value(std::string_view text);

// Returns the number; a boolean or text gives `otherwise`.
double number_or(const Value& value, double otherwise);

// Formats "batch 50, threads 2" for people, with names in alphabetical order.
std::string to_text(const Settings& settings);

// Both convert to a JSON object and back. Error (config) when the text is none, or holds anything but plain
// values.
std::string to_json(const Settings& settings);
Settings settings_from_json(std::string_view text);

// Converts values to JSON; only the sources of this folder use it.
nlohmann::ordered_json json_of(const Value& value);
nlohmann::ordered_json json_of(const Settings& settings);
nlohmann::ordered_json json_of(double number);  // whole numbers without a point; null when not finite
// Throws Error (config) for an object, an array or null.
Value value_of(const nlohmann::ordered_json& json);
Settings settings_of(const nlohmann::ordered_json& json);

}  // namespace trainyard::record
