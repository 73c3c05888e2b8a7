#include "report/placement/placement_view.h"

#include <set>
#include <tuple>

namespace trainyard::report {

std::string PlacementView::family(std::size_t job) const {
  return job < families.size() && !families[job].empty() ? families[job] : "other";
}

const PolicyFigures* PlacementView::shown_policy() const {
  for (const PolicyFigures& policy : policies)
    if (policy.name == shown) return &policy;
  return nullptr;
}

std::vector<std::string> families_of(const PlacementView& view) {
  std::set<std::string> names;
  for (std::size_t job = 0; job < view.problem.jobs.size(); ++job) names.insert(view.family(job));
  return {names.begin(), names.end()};
}

const PolicyFigures* best_policy(const std::vector<PolicyFigures>& policies) {
  const PolicyFigures* best = nullptr;
  const auto merit = [](const PolicyFigures& one) {
    return std::tuple(one.out_of_memory, one.mean_completion_seconds);
  };
  for (const PolicyFigures& one : policies)
    if (one.left_out.empty() && (best == nullptr || merit(one) < merit(*best))) best = &one;
  return best;
}

TimeUnit unit_for(double longest_seconds) {
  if (longest_seconds >= 7200) return {"hours", 3600};
  return longest_seconds >= 180 ? TimeUnit{"minutes", 60} : TimeUnit{"seconds", 1};
}

}  // namespace trainyard::report
