#include "analyze/folds.h"

#include <algorithm>

#include "base/sample_order.h"

namespace trainyard::analyze {

std::vector<int> assign_folds(std::size_t count, int folds, std::uint64_t seed) {
  std::vector<int> fold(count);
  if (count == 0) return fold;
  const SampleOrder order(seed, static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; ++i)
    fold[static_cast<std::size_t>(order.index(static_cast<std::int64_t>(i)))] = static_cast<int>(i) % folds;
  return fold;
}

std::vector<int> assign_group_folds(const std::vector<std::size_t>& groups, int folds, std::uint64_t seed) {
  const std::size_t count = groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1;
  const std::vector<int> of_group = assign_folds(count, folds, seed);
  std::vector<int> fold;
  for (const std::size_t group : groups) fold.push_back(of_group[group]);
  return fold;
}

}  // namespace trainyard::analyze
