#pragma once

#include "base/progress.h"
#include "ensemble/spec.h"
#include "record/run_record.h"
#include "run/train_options.h"

namespace trainyard::launch {

// Starts the workers of `train` as processes of an MPI job. Returns the record of the run as JSON; nothing
// when a request to stop came before the first step. `notes` hears what the first worker prints. Error (peer)
// when a worker is lost.
std::optional<std::string> train_in_processes(const run::TrainCommand& options, ProgressListener* notes);

// Starts servers and workers, and trains with them. `notes` hears of processes that are lost and started
// again.
record::RunRecord train_with_servers(const run::TrainCommand& options, ProgressListener* notes);

// Starts the processes of an ensemble as its design wants, and waits for their end. Each leaves its record in
// `results`, what they print lies in logs/ there. Error (peer, config) says which was lost, or what the first
// of them complained of. `notes` hears of members that were lost and what the first rank prints.
void run_ensemble_job(const ensemble::EnsembleOptions& options, const ensemble::EnsembleSpec& spec,
                      const std::filesystem::path& results, ProgressListener* notes);

}  // namespace trainyard::launch
