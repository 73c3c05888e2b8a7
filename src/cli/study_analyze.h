#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analyze/analysis.h"
#include "record/comparison.h"

namespace trainyard::cli {

// Prints short tables.
void print_analysis(const analyze::Analysis& analysis);
void print_comparison(const analyze::SystemComparison& comparison, const record::Comparison& verdicts);

// Returns the same and every point, in the format of docs/formats/analysis.md.
nlohmann::ordered_json analysis_json(const analyze::Analysis& analysis);
nlohmann::ordered_json comparison_json(const analyze::SystemComparison& comparison,
                                       const record::Comparison& verdicts);

}  // namespace trainyard::cli
