#pragma once

#include "report/study_view.h"

// These functions find which settings tell cells apart, and which cells can share the scale of a chart.
namespace trainyard::report {

using Cells = std::vector<const CellView*>;

Cells all_cells(const StudyView& view);

// Returns those of `axes` that differ among these cells, with the values they have there.
std::vector<Axis> varying_axes(const Cells& cells, const std::vector<Axis>& axes);

// Returns those of `axes` that a name of these cells needs, in their order: they differ among the cells, no
// other word implies them ("cuda" beside "k80"), and without them two cells would have one name.
std::vector<Axis> naming_axes(const Cells& cells, const std::vector<Axis>& axes);

// Returns the label of the settings in which all of these cells agree: "cpu, RM, batch 50".
std::string shared_label(const Cells& cells, const std::vector<Axis>& axes);

// Cells whose speeds can be read on one scale.
struct ScalePart {
  std::string
      name;     // what sets it apart from the other parts, and what its cells share; "": there is one part
  Cells cells;  // in the order of the study
  std::vector<Axis> axes;  // that name its cells
};

// Medians that differ by less can be read on one scale.
inline constexpr double kOneScale = 4;

// Returns how many times the fastest value of this axis is faster than the slowest: between cells that agree
// in all other `axes` where there are such, else between the medians of all; 1 where fewer than two values
// have a result.
double scale_spread(const Cells& cells, const Axis& axis, const std::vector<Axis>& axes);

// Splits by words (the device, the network) while their values differ in scale.
std::vector<ScalePart> split_by_scale(const StudyView& view);

}  // namespace trainyard::report
