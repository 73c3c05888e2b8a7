#pragma once

#include "cli/train_options.h"

namespace trainyard::cli {

// Starts the workers of `train` as processes, and reports what they came to. Returns the exit code. Error
// (peer) when one of them is lost.
int start_workers(const TrainCommand& options);

}  // namespace trainyard::cli
