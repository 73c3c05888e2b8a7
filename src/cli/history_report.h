#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "study/run/history.h"

namespace trainyard::cli {

struct HistoryReport {
  std::vector<study::CellHistory> cells;
  record::Metric metric;
  double minimum_effect = 0.03;
  std::string bisect_build;  // command that builds a commit; "": the default
};

// Returns the number of regressions that last.
int count_regressions(const HistoryReport& report);

// Prints a table of the cells with their levels and changes, then the regressions with the commands that find
// their commits.
void print_history(const HistoryReport& report);
nlohmann::ordered_json history_json(const HistoryReport& report);

}  // namespace trainyard::cli
