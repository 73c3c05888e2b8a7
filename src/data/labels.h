#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace trainyard::data {

// Error (config) that names the file and the first label outside [0, classes).
void check_labels(std::span<const std::int32_t> labels, int classes, const std::filesystem::path& file);

}  // namespace trainyard::data
