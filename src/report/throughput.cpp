#include "report/throughput.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "record/statistics.h"

namespace trainyard::report {
namespace {

// Student's t, 97.5 %, by degrees of freedom.
double student(std::size_t freedom) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  if (freedom <= std::size(kTable)) return kTable[freedom - 1];
  return 1.96 + 2.4 / static_cast<double>(freedom);
}

}  // namespace

Throughput summarise_throughput(std::span<const record::RunRecord* const> runs) {
  Throughput result;
  std::vector<double> speeds;
  double jitter = 0;
  for (const record::RunRecord* run : runs) {
    if (!run->images_per_second || !std::isfinite(*run->images_per_second)) continue;
    speeds.push_back(*run->images_per_second);
    jitter += run->statistics.legacy.speed_jitter / *run->images_per_second;
    result.steps += run->statistics.steps;
    result.unsteady_steps += run->statistics.unsteady_steps;
    result.never_steady += run->statistics.steady ? 0 : 1;
  }
  if (speeds.empty()) return result;
  const auto count = static_cast<double>(speeds.size());
  const record::Summary summary = record::summarise(speeds);
  result.runs = static_cast<int>(speeds.size());
  result.mean = summary.mean;
  result.median = summary.median;
  result.min = summary.min;
  result.max = *std::max_element(speeds.begin(), speeds.end());
  result.jitter = jitter / count;
  if (speeds.size() < 2) return result;
  double squares = 0;
  for (const double speed : speeds) squares += (speed - result.mean) * (speed - result.mean);
  const double deviation = std::sqrt(squares / (count - 1));
  const double half = student(speeds.size() - 1) * deviation / std::sqrt(count);
  result.interval = {result.mean - half, result.mean + half};
  result.run_to_run = deviation / result.mean;
  return result;
}

}  // namespace trainyard::report
