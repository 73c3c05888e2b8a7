#include "report/family_colours.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>

#include "report/spec.h"

namespace trainyard::report {
namespace {

// The theme's colours, then a lighter or darker one of each: the zoo has more families than people can tell
// apart by hue alone.
const std::vector<std::string>& tones() {
  static const std::vector<std::string> tones{
      "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D5D5D", "#8C6BB1",
      "#003F66", "#8A3B00", "#7FD1BA", "#7D3A5E", "#F5D48A", "#B5DDF5", "#B0B0B0", "#4B2E73"};
  return tones;
}

}  // namespace

std::string family_colours(const std::vector<std::string>& families, bool legend) {
  std::vector<std::string> range;
  for (std::size_t i = 0; i < families.size(); ++i) range.push_back(tones()[i % tones().size()]);
  return fmt::format(
      R"({{"field": "series", "type": "nominal", "title": null, "scale": {{"domain": {}, "range": {}}}{}}})",
      to_json(families), to_json(range), legend && families.size() > 1 ? "" : R"(, "legend": null)");
}

std::string family_ink(const std::vector<std::string>& families, const std::string& family) {
  const auto at = std::find(families.begin(), families.end(), family) - families.begin();
  const std::string& tone = tones()[static_cast<std::size_t>(at) % tones().size()];
  const auto part = [&](std::size_t from) {
    return static_cast<double>(std::strtol(tone.substr(from, 2).c_str(), nullptr, 16));
  };
  const double brightness = 0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5);
  return brightness > 115 ? "#1c2430" : "white";
}

}  // namespace trainyard::report
