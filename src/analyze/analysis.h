#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/bottleneck.h"
#include "analyze/heat_map.h"
#include "analyze/logistic.h"
#include "analyze/op_breakdown.h"
#include "analyze/regression.h"
#include "analyze/roofline.h"
#include "analyze/speedup.h"

namespace trainyard::analyze {

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
