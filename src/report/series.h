#pragma once

#include <string>
#include <vector>

#include "report/spec.h"
#include "report/study_view.h"

namespace trainyard::report {

// How a chart tells cells apart by what is not on its x axis: by colour, and by panel where one panel would
// get more lines than there are colours.
class Series {
 public:
  // `on_x`: the axis that the chart's x shows.
  Series(const StudyView& view, const std::string& on_x);

  std::string name(const Cell& cell) const { return label(cell, colours_); }
  std::string panel(const Cell& cell) const { return label(cell, panels_); }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& panels() const { return panel_names_; }
  bool has_panels() const { return !panels_.empty(); }

  // JSON of a Vega-Lite colour channel over the field "series"; without a legend when there is one series
  // only.
  std::string colour_channel() const;

 private:
  std::vector<Axis> colours_, panels_;
  std::vector<std::string> names_, panel_names_;
};

}  // namespace trainyard::report
