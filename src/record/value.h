#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json_fwd.hpp>

namespace trainyard::record {

// What a study file, a command line or a fact about the machine may hold.
using Value = std::variant<bool, std::int64_t, double, std::string>;

// Settings of a run by name ("network", "batch", "threads", ...): one point of a study's matrix.
using Settings = std::map<std::string, Value>;

// The shortest text that reads back as the same value: true, 50, 0.001, adam.
std::string to_text(const Value& value);

// The narrowest type that the whole text is: "50" an integer, "1e-3" a number, "true" a boolean, else text.
Value to_value(std::string_view text);

// A number where there is one: a boolean or text gives `otherwise`.
double number_or(const Value& value, double otherwise);

// "batch 50, threads 2": for people. Names in alphabetical order.
std::string to_text(const Settings& settings);

// A JSON object and back; Error (config) when the text is none, or holds anything but plain values.
std::string to_json(const Settings& settings);
Settings settings_from_json(std::string_view text);

// Values as JSON; for the sources of this folder.
nlohmann::ordered_json json_of(const Value& value);
nlohmann::ordered_json json_of(const Settings& settings);
nlohmann::ordered_json json_of(double number);  // whole numbers without a point; null when not finite
// Error (config) for an object, an array or null.
Value value_of(const nlohmann::ordered_json& json);
Settings settings_of(const nlohmann::ordered_json& json);

}  // namespace trainyard::record
