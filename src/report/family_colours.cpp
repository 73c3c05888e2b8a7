#include "report/family_colours.h"

#include <algorithm>

#include <fmt/core.h>

#include "report/spec.h"
#include "report/theme.h"

namespace trainyard::report {
namespace {

// From 1; those beyond the last begin again.
std::size_t tone(std::size_t family) { return family % kPaletteTones + 1; }

}  // namespace

std::string family_colours(const std::vector<std::string>& families, bool legend) {
  std::vector<std::string> range;
  for (std::size_t i = 0; i < families.size(); ++i) range.push_back(fmt::format("@c{}", tone(i)));
  return fmt::format(
      R"({{"field": "series", "type": "nominal", "title": null, "scale": {{"domain": {}, "range": {}}}{}}})",
      to_json(families), to_json(range), legend && families.size() > 1 ? "" : R"(, "legend": null)");
}

std::string family_ink(const std::vector<std::string>& families, const std::string& family) {
  const auto at = std::find(families.begin(), families.end(), family) - families.begin();
  return fmt::format("@i{}", tone(static_cast<std::size_t>(at)));
}

}  // namespace trainyard::report
