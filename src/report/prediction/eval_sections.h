#pragma once

#include <string>

#include "report/prediction/eval_view.h"

// The parts of the page of an evaluation, as HTML. All text of runs in them is escaped.
namespace trainyard::report {

// Tables of scores: what was held out, all, by family, device and network.
std::string scores_section(const EvalView& view);
// Runs out of memory, as they ended and as was foreseen.
std::string memory_section(const EvalView& view);
// The runs with the largest errors.
std::string largest_errors_section(const EvalView& view);

}  // namespace trainyard::report
