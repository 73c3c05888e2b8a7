#pragma once

#include <optional>
#include <string>

#include "base/progress.h"
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

}  // namespace trainyard::launch
