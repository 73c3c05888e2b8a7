#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "record/metric.h"
#include "stats/change_points.h"

namespace trainyard::study {

// Runs of one folder.
struct HistorySource {
  std::string name;  // as the user calls it
  std::vector<record::RunRecord> runs;
};

// One build of one source, as a cell saw it.
struct HistoryPoint {
  std::string build, source;
  double commit_seconds = 0;    // since 1970; 0: not known
  double measured_seconds = 0;  // of its first run
  std::vector<record::MeasuredRun> runs;
  double value = 0;  // their centre, as verdicts take it
};

// The same settings on the same kind of machine, at one build after the other.
struct CellHistory {
  record::Settings settings;  // without the build
  std::string machine;        // "": not known
  std::vector<HistoryPoint> points;
  std::vector<record::Change> changes;  // places are those of points

  // Whether the level got worse, and is still that of the last point or a worse one.
  bool is_regression(const record::Change& change, const record::Metric& metric) const;
};

struct HistoryOptions {
  double minimum_effect = 0.03;
  std::size_t last = 0;  // only so many of the last builds; 0: all
  // When commits were made, by their full names: orders builds whose records do not say it.
  std::map<std::string, double> commit_seconds;
};

// Builds are in the order of their commits where these are known of all, else of their runs. The level of
// significance is shared out among the cells.
std::vector<CellHistory> make_history(std::span<const HistorySource> sources, const record::Metric& metric,
                                      const HistoryOptions& options);

}  // namespace trainyard::study
