#pragma once

#include "analyze/bottleneck.h"
#include "analyze/op_breakdown.h"
#include "analyze/point.h"
#include "analyze/regression.h"
#include "analyze/roofline.h"
#include "analyze/speedup.h"

namespace trainyard::analyze {

struct HeatCell {
  double column = 0, row = 0, panel = 0;
  double value = kUnknown;                     // the median over the points that fall together here
  int points = 0;                              // that have a value
  int failed = 0;                              // points without one
  record::Status status = record::Status::ok;  // why there is no value at all
};

// HeatMap is a pivot table: dimensions on both axes, and a panel for each value of a third one.
struct HeatMap {
  std::string column, row, panel;             // panel "": one only
  std::vector<double> columns, rows, panels;  // values, ascending
  std::vector<HeatCell> cells;                // those that hold a point; a gap was never planned
  std::vector<std::string> merged;            // further dimensions that fall together in a cell

  const HeatCell* find(double column, double row, double panel) const;  // null: a gap
};

// `value` may be kUnknown. `dimensions` are those of the points. The first three of batch, width and layers
// among them, else the first three, become column, row and panel. Throws Error (config) with fewer than two.
HeatMap make_heat_map(std::span<const Point> points, const std::vector<std::string>& dimensions,
                      const std::function<double(const Point&)>& value);

struct AnalysisOptions {
  std::string metric;  // "": flops_per_second, peak_fraction or images_per_second, the first there is
  std::vector<std::string> dimensions;  // empty: all that vary
  Roofs roofs;                          // zero: as measured beside the runs
};

// Part holds the points that agree in every setting that is a word: one family of networks on one device.
// Dependence of a metric on numbers is analysed only within a part.
struct Part {
  std::string name;        // the words that tell it from other parts: "fc, cpu"; "": there is one part
  std::size_t points = 0;  // all, also those that ended badly
  std::vector<std::string> dimensions;  // numbers that vary in it, or those asked for
  std::optional<Regression> first_order, second_order;
  std::optional<LogRegression> power_law;
  std::optional<HeatMap> heat_map;  // of the utilisation where a roof is known, else of the metric
};

// Analysis holds all results for one set of points. A field stays empty where the points have no data for it.
// Results point into `points`, so an Analysis can be moved but not copied.
struct Analysis {
  std::vector<Point> points;
  std::string metric;
  Roofs roofs;
  std::vector<Part> parts;  // by name
  bool heat_is_utilisation = false;
  std::optional<BestUse> best;
  std::vector<RooflinePoint> steps, ops;
  std::vector<CategoryShare> categories;
  std::vector<LimitedGroup> limits;

  Analysis() = default;
  Analysis(Analysis&&) = default;
  Analysis& operator=(Analysis&&) = default;
};

// Throws Error (usage), with the list of known names, for a metric or dimension that no point has.
Analysis analyse(std::vector<Point> points, const AnalysisOptions& options = {});

// SystemComparison sets two systems side by side, as B over A.
struct SystemComparison {
  std::string metric;
  std::set<std::string> across;  // keys in which they may differ
  std::vector<JoinedPoint> joined;
  RatioSummary all;
  std::map<std::string, std::map<double, RatioSummary>> by_dimension;
  std::optional<Regression> weights;     // of the ratio
  std::optional<Classification> faster;  // where it is above one
};

// Throws Error (config) when no point is on both sides; the message names the keys that set them apart.
SystemComparison compare_systems(std::span<const Point> a, std::span<const Point> b,
                                 const std::string& metric, std::set<std::string> across);

}  // namespace trainyard::analyze
