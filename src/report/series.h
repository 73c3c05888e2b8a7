#pragma once

#include "record/run_record.h"
#include "report/naming.h"
#include "report/spec.h"

namespace trainyard::report {

// Returns true when one of these settings is of the network's shape, and not only of how it was run: then the
// study is a sweep over networks, and the charts that explain such sweeps are of use.
bool sweep_networks(const std::vector<std::string>& settings);

inline constexpr const char* kNoSweep = "no setting of the network's shape varies in this study";

// A series says how a chart of lines tells cells apart by the settings that are not on its x axis: by panel
// where scales differ or one panel would get more lines than there are colours, by colour, and where both do
// not suffice by tooltip alone. A line has two points or more: cells that stand alone at their place are not
// drawn.
class Series {
 public:
  // `on_x`: the axis that the chart's x shows.
  Series(const StudyView& view, const std::string& on_x);

  const Cells& cells() const { return cells_; }  // those drawn, in the order of the study
  std::string line(const CellView& cell) const { return label(cell, lines_); }
  std::string name(const CellView& cell) const { return label(cell, colours_); }
  std::string panel(const CellView& cell) const { return label(cell, panels_); }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& panels() const { return panel_names_; }
  bool has_panels() const { return !panels_.empty(); }
  // Panels that differ in scale need an axis each.
  std::vector<std::string> own_scales() const;
  // Lines are few enough for the runs and intervals of each to be seen.
  bool shows_runs() const;

  // Returns the settings that all lines share, and only they: "cpu, batch 50". Settings of the whole study
  // are not included.
  const std::string& shared() const { return shared_; }

  // JSON of a Vega-Lite colour channel over the field "series"; without a legend when there is one series
  // only. Numbers go from light to dark.
  std::string colour_channel() const;
  // Returns the same as shapes, for readers who see colours alike; null where shapes run out.
  std::string shape_channel() const;

 private:
  void choose_panels();
  std::vector<std::string> labels(const std::vector<Axis>& axes) const;

  Cells cells_;
  std::vector<Axis> placing_;  // lines, and places on them
  std::vector<Axis> lines_, colours_, panels_;
  std::vector<std::string> names_, panel_names_;
  std::string shared_;
};

}  // namespace trainyard::report
