#pragma once

#include "record/metric.h"
#include "stats/change_points.h"

namespace trainyard::study {

// HistorySource holds the runs of one folder.
struct HistorySource {
  std::string name;  // as the user calls it
  std::vector<record::RunRecord> runs;
};

// HistoryPoint is one build of one source, in one cell.
struct HistoryPoint {
  std::string build, source;
  double commit_seconds = 0;    // since 1970; 0: not known
  double measured_seconds = 0;  // of its first run
  std::vector<record::MeasuredRun> runs;
  double value = 0;  // their centre, as verdicts take it
};

// CellHistory is the same settings on the same kind of machine, one build after the other.
struct CellHistory {
  record::Settings settings;  // without the build
  std::string machine;        // "": not known
  std::vector<HistoryPoint> points;
  std::vector<stats::Change> changes;  // places are those of points

  // Tells whether the level got worse, and the last point still has that level or a worse one.
  bool is_regression(const stats::Change& change, const record::Metric& metric) const;
};

struct HistoryOptions {
  double minimum_effect = 0.03;
  std::size_t last = 0;  // only so many of the last builds; 0: all
  // Times of commits, by their full names: they order builds whose records do not hold them.
  std::map<std::string, double> commit_seconds;
};

// Orders builds by their commits where these are known for all, else by their runs. The cells share the level
// of significance.
std::vector<CellHistory> make_history(std::span<const HistorySource> sources, const record::Metric& metric,
                                      const HistoryOptions& options);

}  // namespace trainyard::study
