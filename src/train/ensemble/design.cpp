#include "train/ensemble/design.h"

#include <array>

namespace trainyard::train::ensemble {
namespace {

constexpr std::array kNames = {
    "baseline",     "all-shared", "single-broadcast", "multi-broadcast", "multi-broadcast-asbuilt",
    "shared-memory"};

}  // namespace

const char* name(Design design) { return kNames[static_cast<std::size_t>(design)]; }

std::vector<std::string> design_names() { return {kNames.begin(), kNames.end()}; }

std::optional<Design> find_design(const std::string& wanted) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (wanted == kNames[i]) return static_cast<Design>(i);
  return std::nullopt;
}

}  // namespace trainyard::train::ensemble
