#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/libraries.h"
#include "report/placement/placement_view.h"

namespace trainyard::report {

// Where jobs run and what becomes of their queue, as one HTML file that loads nothing.
std::string make_placement_page(const PlacementView& view, const std::vector<Chart>& charts,
                                const std::vector<Library>& libraries, double made_seconds);

}  // namespace trainyard::report
