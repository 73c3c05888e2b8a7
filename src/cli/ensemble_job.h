#pragma once

#include "cli/ensemble_member.h"

namespace trainyard::cli {

// Starts the processes of an ensemble as its design wants, and waits for their end. Each leaves its record in
// `results`, what they print lies in logs/ there. Error (peer, config) says which was lost, or what the first
// of them complained of.
void run_ensemble_job(const EnsembleOptions& options, const EnsembleSpec& spec,
                      const std::filesystem::path& results);

}  // namespace trainyard::cli
