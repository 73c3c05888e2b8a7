#pragma once

#include <filesystem>
#include <string>

#include "predict/analytic/time_model.h"
#include "predict/runs/model_container.h"

namespace trainyard::predict {

inline constexpr const char* kTimeModelSchema = "trainyard-time-model";
inline constexpr int kTimeModelVersion = 3;

// docs/formats/prediction-model.md describes the format. Numbers survive the round trip exactly.
ModelContainer to_container(const TimeModel& model);
// Throws Error (config) naming a member that is missing or out of bounds, or another kind or version.
TimeModel parse_time_model(const ModelContainer& container, const std::string& who);

void write_time_model(const TimeModel& model, const std::filesystem::path& path);
TimeModel read_time_model(const std::filesystem::path& path);

}  // namespace trainyard::predict
