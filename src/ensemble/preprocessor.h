#pragma once

#include "base/progress.h"
#include "ensemble/spec.h"

namespace trainyard::ensemble {

// The process that makes samples for the members of this machine. It writes its address to part.announce,
// serves until the last member has left, and leaves its record. `notes` hears of members that are missing.
void run_preprocessor(const EnsembleOptions& options, const EnsemblePart& part, ProgressListener& notes);

}  // namespace trainyard::ensemble
