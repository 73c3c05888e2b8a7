#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/libraries.h"
#include "report/study_view.h"

namespace trainyard::report {

// The whole report: one HTML file that loads nothing, and whose policy forbids it to.
std::string make_page(const StudyView& view, const std::vector<Chart>& charts,
                      const std::vector<Library>& libraries, double made_seconds);

}  // namespace trainyard::report
