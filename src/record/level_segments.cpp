#include "record/level_segments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "record/statistics.h"

namespace trainyard::record {
namespace {

constexpr std::size_t kMostGroups = 400;  // bounds the quadratic search
constexpr std::size_t kShortest = 3;      // groups in a segment
constexpr double kFewSteps = 30;

// Spread of the changes over so many steps; a steady drift is none.
double spread_of_changes(std::span<const double> series, std::size_t distance) {
  std::vector<double> changes;
  for (std::size_t i = distance; i < series.size(); ++i) changes.push_back(series[i] - series[i - distance]);
  return scaled_mad(changes);
}

}  // namespace

std::vector<double> without_spikes(std::span<const double> series) {
  // Hampel's identifier, over five steps.
  std::vector<double> local(series.size()), distances(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t first =
        std::min(i < 2 ? 0 : i - 2, series.size() - std::min<std::size_t>(5, series.size()));
    local[i] = median(series.subspan(first, std::min<std::size_t>(5, series.size())));
    distances[i] = std::abs(series[i] - local[i]);
  }
  const double limit = 4 * 1.4826 * median(distances);
  std::vector<double> smooth(series.begin(), series.end());
  for (std::size_t i = 0; i < series.size(); ++i)
    if (distances[i] > limit) smooth[i] = local[i];
  return smooth;
}

double lasting_noise(std::span<const double> series) {
  // Chakar, Lebarbier, Levy-Leduc & Robin (Bernoulli 2017): in an autoregression of order one the variances
  // of changes over two steps and over one are as 1 + rho to 1; medians of them do not mind changes of level.
  const double over_one = spread_of_changes(series, 1), over_two = spread_of_changes(series, 2);
  const double ratio = over_one > 0 ? over_two / over_one : 1;
  // Few steps cannot show much persistence; without this bound chance alone hides clear changes in them.
  const auto n = static_cast<double>(series.size());
  const double rho = std::clamp(ratio * ratio - 1, 0.0, 0.95 * n / (n + kFewSteps));
  const double deviation = over_one / std::sqrt(2 * (1 - rho));
  // Clocks are coarse: below a thousandth of a step nothing is noise.
  return std::max(deviation * std::sqrt((1 + rho) / (1 - rho)), 1e-3 * std::abs(median(series)));
}

std::vector<Segment> level_segments(std::span<const double> series, double noise) {
  const std::size_t group = (series.size() + kMostGroups - 1) / kMostGroups;
  const std::size_t groups = (series.size() + group - 1) / group;
  const auto boundary = [&](std::size_t index) { return std::min(index * group, series.size()); };
  std::vector<double> sums(groups + 1), squares(groups + 1);
  for (std::size_t g = 0; g < groups; ++g) {
    sums[g + 1] = sums[g];
    squares[g + 1] = squares[g];
    for (std::size_t i = boundary(g); i < boundary(g + 1); ++i) {
      const double value = (series[i] - series[0]) / noise;
      sums[g + 1] += value;
      squares[g + 1] += value * value;
    }
  }
  const auto cost = [&](std::size_t begin, std::size_t end) {
    const double sum = sums[end] - sums[begin];
    return squares[end] - squares[begin] - sum * sum / static_cast<double>(boundary(end) - boundary(begin));
  };

  // Optimal partitioning (Jackson et al. 2005): the cuts that minimise the squares about the levels, where
  // every cut costs a penalty.
  const double penalty = 5 * std::log(static_cast<double>(std::max<std::size_t>(series.size(), 20)));
  std::vector<double> best(groups + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> cut(groups + 1, 0);
  best[0] = -penalty;
  for (std::size_t end = kShortest; end <= groups; ++end)
    for (std::size_t begin = 0; begin + kShortest <= end; ++begin) {
      const double total = best[begin] + cost(begin, end) + penalty;
      if (total < best[end]) {
        best[end] = total;
        cut[end] = begin;
      }
    }

  std::vector<Segment> segments;
  for (std::size_t end = groups; end > 0; end = cut[end]) {
    const std::size_t begin = boundary(cut[end]), stop = boundary(end);
    segments.push_back({begin, stop, mean(series.subspan(begin, stop - begin))});
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace trainyard::record
