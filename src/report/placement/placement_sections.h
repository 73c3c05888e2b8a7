#pragma once

#include <string>

#include "report/placement/placement_view.h"

// The parts of the page of a placement, as HTML. All text of jobs in them is escaped.
namespace trainyard::report {

// What each policy came to, and why some are left out.
std::string policies_section(const PlacementView& view);
// How busy each device was. Empty without an outcome.
std::string devices_section(const PlacementView& view);
// Every job: where, when and why. Empty without an outcome.
std::string placed_jobs_section(const PlacementView& view);

}  // namespace trainyard::report
