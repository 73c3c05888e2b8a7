#pragma once

#include "record/run_record.h"

namespace trainyard::analyze {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// OpCategory holds the cost of all ops of one kind in a step, whatever tool measured it. NaN: not known.
struct OpCategory {
  std::string name;
  double time_fraction = 0;  // of the whole step, 0 to 1
  double seconds = 0;        // of a step
  double flops = 0, bytes = 0;
  double peak_fraction = 0;  // of the device's arithmetic, while these ops ran
  double kernels = 0;
};

// Point is one configuration: all runs that agree in everything that decides their speed.
struct Point {
  record::Settings keys;  // record::envelope: layers, width, batch, device, ...
  record::Status status = record::Status::ok;
  std::string reason;  // of the last run, when no run went well
  int runs = 0;        // that went well
  // Medians over these runs: images_per_second, step_seconds and every figure of their records.
  // bytes_per_step and kernels_per_step are also taken from the ops where only these have them.
  std::map<std::string, double> metrics;
  std::vector<OpCategory> ops;

  bool ok() const { return status == record::Status::ok; }
  double metric(const std::string& name) const;  // kUnknown when there is none
  double key(const std::string& name) const;     // kUnknown when it is none, or no number
};

// Returns the settings in which a run agrees with the other runs of its point.
record::Settings keys_of(const record::RunRecord& run);

// Returns the points in the order of their first runs.
std::vector<Point> make_points(std::span<const record::RunRecord> runs);

// Returns the keys that are numbers in every point that went well and that differ between two of them:
// layers, width, inputs, classes and batch first, in this order, then the rest by name.
std::vector<std::string> dimensions_of(std::span<const Point> points);

// Returns the points that went well and have this metric.
std::vector<const Point*> with_metric(std::span<const Point> points, const std::string& metric);

// Returns the names of the metrics that at least one point has.
std::vector<std::string> metrics_of(std::span<const Point> points);

// This category of published op profiles contains others: its time is also counted in theirs.
inline constexpr const char* kLoopCategory = "while";

// Returns the share of a roof, in flops a second, that these ops reached while they ran: the profile's own
// figure, else one from their flops. NaN: not known.
double peak_fraction_of(const OpCategory& category, double roof);

// Reads `ops` of a record (docs/formats/run-record.md), in its order; empty without it. Where a record has
// shares of time and no seconds, the seconds follow from its step time.
std::vector<OpCategory> op_categories_of(const record::RunRecord& run);

}  // namespace trainyard::analyze
