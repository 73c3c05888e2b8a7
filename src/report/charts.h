#pragma once

#include <vector>

#include "report/chart.h"

namespace trainyard::report {

// Every chart, in the order of the page; those that the study has no data for say why they are left out.
std::vector<Chart> make_charts(const StudyView& view);

}  // namespace trainyard::report
