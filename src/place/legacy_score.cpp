#include "place/legacy_score.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::place {
namespace {

constexpr int kCopies = 4;  // of the time, one for each resource

void want_use(const Job& job) {
  for (const Option& option : job.options)
    if (option.use.empty())
      fail(ErrorKind::config,
           "job '{}': GPUAlloc's efficiency wants measured shares of bursts and peaks on every device",
           job.name);
}

}  // namespace

std::vector<double> legacy_times(const Job& job) {
  std::vector<double> scores;
  double running = 0;
  for (const Option& option : job.options) scores.push_back(running += kCopies * option.seconds);
  return scores;
}

std::vector<double> legacy_times_fixed(const Job& job) {
  std::vector<double> scores;
  for (const Option& option : job.options) scores.push_back(kCopies * option.seconds);
  return scores;
}

std::vector<double> legacy_efficiencies(const Job& job) {
  want_use(job);
  std::vector<double> scores;
  for (const Option& option : job.options) {
    double sum = 0;
    for (const predict::ResourceUse& use : option.use) sum += use.burst > 0 ? use.peak / use.burst : 0;
    scores.push_back(sum);
  }
  return scores;
}

LegacyScaling::LegacyScaling(const Problem& problem) : largest_(problem.kinds.size()) {
  for (const Job& job : problem.jobs) {
    want_use(job);
    for (std::size_t k = 0; k < job.options.size(); ++k) {
      const auto& use = job.options[k].use;
      if (largest_[k].size() < use.size()) largest_[k].resize(use.size());
      for (std::size_t r = 0; r < use.size(); ++r) {
        largest_[k][r].burst = std::max(largest_[k][r].burst, use[r].burst);
        largest_[k][r].peak = std::max(largest_[k][r].peak, use[r].peak);
      }
    }
  }
}

std::vector<double> LegacyScaling::efficiencies(const Job& job) const {
  std::vector<double> scores;
  for (std::size_t k = 0; k < job.options.size(); ++k) {
    double sum = 0;
    for (std::size_t r = 0; r < job.options[k].use.size(); ++r) {
      const predict::ResourceUse& use = job.options[k].use[r];
      const Largest& largest = largest_[k][r];
      if (largest.burst == 0 || largest.peak == 0 || use.burst == 0) continue;
      sum += use.peak / largest.peak / (use.burst / largest.burst);
    }
    scores.push_back(sum);
  }
  return scores;
}

}  // namespace trainyard::place
