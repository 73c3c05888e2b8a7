#include "place/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/philox.h"
#include "base/sample_order.h"

namespace trainyard::place {

double shortest_seconds(const Problem& problem, const Job& job) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const Slot& slot : problem.slots)
    if (job.options[slot.kind].fits) shortest = std::min(shortest, job.options[slot.kind].seconds);
  return shortest;
}

void shuffle_jobs(Problem& problem, std::uint64_t seed) {
  if (problem.jobs.empty()) return;
  const SampleOrder order(seed, static_cast<std::int64_t>(problem.jobs.size()));
  std::vector<Job> shuffled;
  for (std::size_t i = 0; i < problem.jobs.size(); ++i)
    shuffled.push_back(problem.jobs[static_cast<std::size_t>(order.index(static_cast<std::int64_t>(i)))]);
  problem.jobs = std::move(shuffled);
}

void inject_error(Problem& problem, double deviation, std::uint64_t seed) {
  constexpr std::uint64_t kStream = stream_of("prediction error");
  const Philox random(seed, kStream);
  std::uint64_t drawn = 0;
  for (Job& job : problem.jobs)
    for (Option& option : job.options) {
      const Philox::Block block = random.block(drawn++);
      // Box and Muller.
      const double radius = std::sqrt(-2 * std::log(1.0 - static_cast<double>(to_unit_float(block[0]))));
      const double angle = 2 * std::numbers::pi * static_cast<double>(to_unit_float(block[1]));
      option.seconds *= std::exp(deviation * radius * std::cos(angle));
    }
}

}  // namespace trainyard::place
