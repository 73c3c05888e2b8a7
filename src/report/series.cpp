#include "report/series.h"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "report/theme.h"

namespace trainyard::report {
namespace {

std::vector<std::string> labels(const StudyView& view, const std::vector<Axis>& axes) {
  std::vector<std::string> found;
  for (const Cell& cell : view.cells) {
    std::string text = label(cell, axes);
    if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(std::move(text));
  }
  return found;
}

}  // namespace

Series::Series(const StudyView& view, const std::string& on_x) {
  std::copy_if(view.axes.begin(), view.axes.end(), std::back_inserter(colours_),
               [&](const Axis& axis) { return axis.name != on_x; });
  while (colours_.size() > 1 && labels(view, colours_).size() > kPaletteColours) {
    panels_.push_back(colours_.front());
    colours_.erase(colours_.begin());
  }
  if (labels(view, colours_).size() > kPaletteColours) std::swap(panels_, colours_);
  names_ = labels(view, colours_);
  if (!panels_.empty()) panel_names_ = labels(view, panels_);
}

std::string Series::colour_channel() const {
  const bool alone = names_.size() < 2;
  return fmt::format(R"({{"field": "series", "type": "nominal", "title": null, "sort": {}{}}})",
                     to_json(names_), alone ? R"(, "legend": null)" : "");
}

}  // namespace trainyard::report
