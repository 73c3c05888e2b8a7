#pragma once

#include <string>
#include <vector>

namespace trainyard::report {

// True when one of these settings is of the network's shape, and not only of how it was run: then the study
// is a sweep over networks, and the charts that explain such sweeps are of use.
bool sweep_networks(const std::vector<std::string>& settings);

inline constexpr const char* kNoSweep = "no setting of the network's shape varies in this study";

}  // namespace trainyard::report
