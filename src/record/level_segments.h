#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace trainyard::record {

// A stretch of a series with one level.
struct Segment {
  std::size_t begin = 0, end = 0;
  double level = 0;

  std::size_t steps() const { return end - begin; }
};

// The series with single spikes replaced by the median of their neighbourhood.
std::vector<double> without_spikes(std::span<const double> series);

// Square root of the long-run variance: the mean of n steps on one level has the standard error noise /
// sqrt(n). Neither changes of level nor spikes count. Never zero for a series that is not.
double lasting_noise(std::span<const double> series);

// Cuts the series at its changes of level; one segment when there are none. REQUIRES: at least eight steps.
std::vector<Segment> level_segments(std::span<const double> series, double noise);

}  // namespace trainyard::record
