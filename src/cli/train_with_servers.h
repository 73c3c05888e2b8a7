#pragma once

#include "cli/train_options.h"

namespace trainyard::cli {

// Starts servers and workers, trains with them, reports. Returns the exit code.
int train_with_servers(const TrainCommand& options);

// One of the workers. `part` says which.
int work_for_servers(const TrainCommand& options, const PsPart& part);

}  // namespace trainyard::cli
