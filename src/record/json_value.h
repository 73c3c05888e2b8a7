#pragma once

#include <nlohmann/json_fwd.hpp>

#include "record/value.h"

namespace trainyard::record {

// Values as JSON; for the sources of this folder.
nlohmann::ordered_json json_of(const Value& value);
nlohmann::ordered_json json_of(const Settings& settings);
nlohmann::ordered_json json_of(double number);  // whole numbers without a point; null when not finite
// Error (config) for an object, an array or null.
Value value_of(const nlohmann::ordered_json& json);
Settings settings_of(const nlohmann::ordered_json& json);

}  // namespace trainyard::record
