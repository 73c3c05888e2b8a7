#pragma once

#include <filesystem>

#include "base/progress.h"
#include "ensemble/options.h"

namespace trainyard::launch {

// Starts the processes of an ensemble as its design wants, and waits for their end. Each leaves its record in
// `results`, what they print lies in logs/ there. Error (peer, config) says which was lost, or what the first
// of them complained of. `notes` hears of members that were lost and what the first rank prints.
void run_ensemble_job(const ensemble::EnsembleOptions& options, const ensemble::EnsembleSpec& spec,
                      const std::filesystem::path& results, ProgressListener* notes);

}  // namespace trainyard::launch
