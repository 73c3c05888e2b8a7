#pragma once

#include <functional>
#include <string>

#include "cli/deployment_options.h"
#include "cli/run_options.h"

namespace trainyard::cli {

// Runs a command. When it fails, or is refused, through no fault of the caller's and --record was given, the
// record says how, with the status that a study would give it; the error then goes on.
int recording_failure(const std::string& command, const RunOptions& options,
                      const DeploymentOptions& deployment, const std::function<int()>& run);

}  // namespace trainyard::cli
