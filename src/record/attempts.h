#pragma once

#include <vector>

#include "record/run_record.h"

namespace trainyard::record {

// A run of a study may have several attempts: some failed, some went well while the machine was busy with
// something else. All are kept; one speaks for the run.

// Whether a warning tells of something that disturbed the run while it went on.
bool is_disturbance(const Warning& warning);
bool is_disturbed(const RunRecord& run);

// Whether `later` speaks for its run rather than `earlier`, an attempt before it. One that went well
// undisturbed is before one that went well, and that is before all others. Among equals that went well the
// first counts, so that nobody can repeat a run until its speed pleases; among failures the last, whose
// reason is the newest.
bool speaks_instead(const RunRecord& later, const RunRecord& earlier);

// Without the attempts for which another one of the same build speaks. Runs outside of studies are kept, and
// so is the order.
std::vector<RunRecord> that_speak(std::vector<RunRecord> runs);

}  // namespace trainyard::record
