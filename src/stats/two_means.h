#pragma once

#include <optional>
#include <span>

namespace trainyard::stats {

// Two levels that lie nearest to weighted values, in the sense of least squares (k-means with k = 2).
struct TwoMeans {
  double low = 0, high = 0;  // the levels, low < high
  double high_share = 0;     // of the weight
  double explained = 0;      // share of the variance that the two levels account for, 0 to 1
  double boundary() const { return (low + high) / 2; }  // what lies above belongs to the higher level
};

// Returns the best of all splits, found by sorting: it depends on no start and on no order of the values, and
// the levels are ordered, so that they are never exchanged. Returns nothing when all values are equal.
// REQUIRES: as many weights as values; finite values, weights above 0.
std::optional<TwoMeans> two_means(std::span<const double> values, std::span<const double> weights);

}  // namespace trainyard::stats
