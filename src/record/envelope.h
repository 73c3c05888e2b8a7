#pragma once

#include <span>
#include <string>
#include <vector>

#include "record/run_record.h"

namespace trainyard::record {

// Everything about a run that must agree for its speed to be compared with another's: what was asked, where
// known as it really ran (backend auto becomes onednn), and the build that ran. How long it was measured, its
// seed and its place in a queue are no part of it.
Settings envelope(const RunRecord& run);

struct SettingDifference {
  std::string name, a, b;  // "" where a side does not have the setting
};

// In alphabetical order of the names.
std::vector<SettingDifference> differences(const Settings& a, const Settings& b);

// Facts about the machine and the software that any two of the runs differ in, of those that explain a
// difference in speed: models, compiler, commit, library versions. `a` and `b` list the values of each side.
std::vector<SettingDifference> fact_differences(std::span<const RunRecord> a, std::span<const RunRecord> b);

}  // namespace trainyard::record
