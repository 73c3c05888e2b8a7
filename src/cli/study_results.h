#pragma once

#include <filesystem>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "cli/study_options.h"
#include "record/cell_summary.h"
#include "study/run/progress.h"

namespace trainyard::cli {

// One cell of a study and what its runs came to.
struct CellProgress {
  std::string cell, label;
  record::Settings settings;
  std::int64_t expected = 0, done = 0, warnings = 0;
  std::optional<record::CellSummary> images_per_second;  // over its runs; none: no run has a speed
};
std::vector<CellProgress> summarize_cells(const study::StudyProgress& progress);  // in the order of the plan

// Tells the runs of a study apart by their settings.
RunLabels labels_of(const study::StudyProgress& progress);

// Prints the cells with their speeds, then what is not done and why, then one line of counts.
void print_progress(const study::StudyProgress& progress);
void print_totals(const study::StudyProgress& progress);  // that line alone
nlohmann::ordered_json progress_json(const study::StudyProgress& progress);

// Returns one line of text, or "" when nodes do not differ.
std::string node_effects_text(const record::NodeEffects& effects);

}  // namespace trainyard::cli
