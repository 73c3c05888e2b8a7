#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::analyze {

// Which of `folds` each of `count` things belongs to, for cross-validation: sizes differ by at most one, and
// the same seed always gives the same.
std::vector<int> assign_folds(std::size_t count, int folds, std::uint64_t seed);

// The same for things in groups that have to stay together; `groups` has the group's number of each.
std::vector<int> assign_group_folds(const std::vector<std::size_t>& groups, int folds, std::uint64_t seed);

}  // namespace trainyard::analyze
