#pragma once

#include <string>
#include <vector>

#include "report/prediction/eval_view.h"
#include "report/spec.h"

// What charts share that draw runs as points.
namespace trainyard::report {

// Runs that ended well, or some of them where they are many: then `thinned` says so.
struct DrawnRuns {
  std::vector<const predict::Judged*> runs;
  std::string thinned;
};
DrawnRuns drawn_runs(const EvalView& view);

// kind "run", what the run is ("series" is its family), measured, predicted, error, and low and high where
// there is an interval.
Row run_row(const PredictedRun& run, const predict::Judged& one);
// JSON of the tooltip for such rows, and of their colours.
extern const char* const kRunTooltip;
std::string run_colours(const EvalView& view);

}  // namespace trainyard::report
