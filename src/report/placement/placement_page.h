#pragma once

// These functions make the parts of the page of a placement, as HTML. They escape all text of jobs.

#include "report/chart.h"
#include "report/libraries.h"
#include "report/placement/placement_charts.h"

namespace trainyard::report {

// Shows the result of each policy, and why some are left out.
std::string policies_section(const PlacementView& view);
// Makes the table of what each user got. It is empty where jobs have no users.
std::string users_section(const PlacementView& view);
// Makes the table of how busy each device was. It is empty without an outcome.
std::string devices_section(const PlacementView& view);
// Lists every job: where, when and why it ran. It is empty without an outcome.
std::string placed_jobs_section(const PlacementView& view);

// Returns one HTML file that loads nothing and shows where jobs run and how their queue proceeds.
std::string make_placement_page(const PlacementView& view, const std::vector<Chart>& charts,
                                const std::vector<Library>& libraries, double made_seconds);

}  // namespace trainyard::report
