#pragma once

#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/op_breakdown.h"
#include "record/run_record.h"

namespace trainyard::analyze {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// One configuration: all runs that agree in everything that decides their speed.
struct Point {
  record::Settings keys;  // record::envelope: layers, width, batch, device, ...
  record::Status status = record::Status::ok;
  std::string reason;  // of the last run, when no run went well
  int runs = 0;        // that went well
  // Medians over these runs: images_per_second, step_seconds and every figure of their records;
  // bytes_per_step and kernels_per_step also where only their ops know them.
  std::map<std::string, double> metrics;
  std::vector<OpCategory> ops;

  bool ok() const { return status == record::Status::ok; }
  double metric(const std::string& name) const;  // kUnknown when there is none
  double key(const std::string& name) const;     // kUnknown when it is none, or no number
};

// What a run agrees in with the others of its point.
record::Settings keys_of(const record::RunRecord& run);

// In the order of their first runs.
std::vector<Point> make_points(std::span<const record::RunRecord> runs);

// The keys that are numbers in every point that went well and differ between two of them: layers, width,
// inputs, classes and batch first, in this order, then the rest by name.
std::vector<std::string> dimensions_of(std::span<const Point> points);

// Those that went well and have this metric.
std::vector<const Point*> with_metric(std::span<const Point> points, const std::string& metric);

// Names of the metrics that at least one point has.
std::vector<std::string> metrics_of(std::span<const Point> points);

}  // namespace trainyard::analyze
