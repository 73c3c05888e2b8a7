#pragma once

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "record/comparison.h"

namespace trainyard::cli {

struct ComparedSides {
  std::string name_a, name_b;
  std::vector<record::RunRecord> runs_a, runs_b;
  std::set<std::string> across;
};

// Prints a table of the cells, then what could not be compared, then what else differs, then one line of
// counts.
void print_comparison(const ComparedSides& sides, const record::Comparison& comparison,
                      const record::Metric& metric, const record::VerdictOptions& options);
nlohmann::ordered_json comparison_json(const ComparedSides& sides, const record::Comparison& comparison,
                                       const record::Metric& metric, const record::VerdictOptions& options);

// Returns one line that says why no cell could be compared.
std::string why_nothing(const ComparedSides& sides, const record::Comparison& comparison,
                        const record::Metric& metric);

}  // namespace trainyard::cli
