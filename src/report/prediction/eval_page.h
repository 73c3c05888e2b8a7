#pragma once

// These functions make the parts of the page of an evaluation, as HTML. They escape all text of runs.

#include "report/chart.h"
#include "report/libraries.h"
#include "report/prediction/eval_charts.h"

namespace trainyard::report {

// Tables of scores: what was held out, all, by family, device and network.
std::string scores_section(const EvalView& view);
// Runs out of memory, as they ended and as was foreseen.
std::string memory_section(const EvalView& view);
// The runs with the largest errors.
std::string largest_errors_section(const EvalView& view);

// Shows how well runs were predicted, as one HTML file that loads nothing.
std::string make_eval_page(const EvalView& view, const std::vector<Chart>& charts,
                           const std::vector<Library>& libraries, double made_seconds);

}  // namespace trainyard::report
