#include "report/step_trace.h"

#include <algorithm>
#include <set>

namespace trainyard::report {

std::vector<TracePoint> trace_steps(const record::RunRecord& run, std::size_t most) {
  std::vector<double> seconds = run.warmup_step_seconds;
  seconds.insert(seconds.end(), run.step_seconds.begin(), run.step_seconds.end());
  std::set<std::size_t> outliers, kept;
  for (const std::int64_t step : run.statistics.outliers)
    outliers.insert(run.warmup_step_seconds.size() + static_cast<std::size_t>(step));
  const std::size_t stretch = std::max<std::size_t>(1, 2 * seconds.size() / std::max<std::size_t>(most, 2));
  for (std::size_t first = 0; first < seconds.size(); first += stretch) {
    const auto begin = seconds.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = seconds.begin() + static_cast<std::ptrdiff_t>(std::min(first + stretch, seconds.size()));
    const auto [low, high] = std::minmax_element(begin, end);
    kept.insert(static_cast<std::size_t>(low - seconds.begin()));
    kept.insert(static_cast<std::size_t>(high - seconds.begin()));
  }
  for (const std::size_t step : outliers)
    if (step < seconds.size()) kept.insert(step);
  std::vector<TracePoint> points;
  for (const std::size_t step : kept)
    points.push_back({static_cast<std::int64_t>(step) + 1, seconds[step], outliers.contains(step)});
  return points;
}

}  // namespace trainyard::report
