#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analyze/analysis.h"
#include "record/comparison.h"

namespace trainyard::cli {

// Short tables for people.
void print_analysis(const analyze::Analysis& analysis);
void print_comparison(const analyze::SystemComparison& comparison, const record::Comparison& verdicts);

// The same and every point: docs/formats/analysis.md.
nlohmann::ordered_json analysis_json(const analyze::Analysis& analysis);
nlohmann::ordered_json comparison_json(const analyze::SystemComparison& comparison,
                                       const record::Comparison& verdicts);

}  // namespace trainyard::cli
