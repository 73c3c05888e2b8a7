#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/roofline.h"
#include "record/run_record.h"

namespace trainyard::analyze {

// A category of published op profiles that holds others: what it took they took.
inline constexpr const char* kLoopCategory = "while";

// What the ops of one kind took of a step, whoever measured it. NaN: not known.
struct OpCategory {
  std::string name;
  double time_fraction = 0;  // of the whole step, 0 to 1
  double seconds = 0;        // of a step
  double flops = 0, bytes = 0;
  double peak_fraction = 0;  // of the device's arithmetic, while these ops ran
  double kernels = 0;
};

// Of a roof in flops a second, while these ops ran: as a profile says it, else by their flops. NaN: not
// known.
double peak_fraction_of(const OpCategory& category, double roof);

// From `ops` of a record (docs/formats/run-record.md), in its order; empty without it. A record that says
// shares of time and no seconds has these of its step.
std::vector<OpCategory> op_categories_of(const record::RunRecord& run);

// What one kind of op takes, on average over points; each point counts alike, one without the kind as 0.
struct CategoryShare {
  std::string category;
  double time_fraction = 0;     // mean over all points
  double peak_fraction = 0;     // mean over the points that know it, while it ran; kUnknown: none does
  double flops = 0, bytes = 0;  // sums
  std::size_t points = 0;       // that have it
};

// By time, the longest first. Empty when no point has a breakdown.
std::vector<CategoryShare> break_down(std::span<const Point> points, const Roofs& roofs = {});

// The same apart for every value of a dimension.
std::map<double, std::vector<CategoryShare>> break_down_by(std::span<const Point> points,
                                                           const std::string& dimension,
                                                           const Roofs& roofs = {});

}  // namespace trainyard::analyze
