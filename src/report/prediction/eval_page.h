#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/libraries.h"
#include "report/prediction/eval_view.h"

namespace trainyard::report {

// How well runs were predicted, as one HTML file that loads nothing.
std::string make_eval_page(const EvalView& view, const std::vector<Chart>& charts,
                           const std::vector<Library>& libraries, double made_seconds);

}  // namespace trainyard::report
