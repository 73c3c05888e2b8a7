#pragma once

#include "cli/ensemble_member.h"

namespace trainyard::cli {

// Starts the processes of an ensemble and waits for their end. Each leaves its record in `results`. Error
// (peer, config) says which was lost, or what the first of them complained of. Returns false when it was
// interrupted.
bool run_in_place_job(const EnsembleOptions& options, const EnsembleSpec& spec,
                      const std::filesystem::path& results, const std::filesystem::path& logs);
bool run_mpi_ensemble(const EnsembleOptions& options, const EnsembleSpec& spec,
                      const std::filesystem::path& results, const std::filesystem::path& logs);

}  // namespace trainyard::cli
