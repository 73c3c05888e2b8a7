#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "predict/time_model.h"

namespace trainyard::predict {

// docs/formats/prediction-model.md. Numbers survive the round trip exactly.
std::string to_json(const TimeModel& model);
// Error (config) names what is missing or out of bounds, and a newer schema.
TimeModel time_model_from_json(std::string_view text, const std::string& source);

void write_time_model(const TimeModel& model, const std::filesystem::path& path);
TimeModel read_time_model(const std::filesystem::path& path);

}  // namespace trainyard::predict
