#pragma once

#include <vector>

#include "report/chart.h"

namespace trainyard::report {

// Panels that a page shows at first.
inline constexpr std::size_t kMostOpenPanels = 24;

// Every chart, in the order of the page; those that the study has no data for say why they are left out.
// Those whose panels would be more than a page shows at first are folded.
std::vector<Chart> make_charts(const StudyView& view);

}  // namespace trainyard::report
