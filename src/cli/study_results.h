#pragma once

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

#include "study/progress.h"

namespace trainyard::cli {

// Cells with their speeds, then what is not done and why, then one line that counts.
void print_progress(const study::Progress& progress);
void print_totals(const study::Progress& progress);  // that line alone
nlohmann::ordered_json progress_json(const study::Progress& progress);

// This program's own file: runs of a study are commands of it.
std::filesystem::path own_program();

}  // namespace trainyard::cli
