#pragma once

#include "networks/zoo/network_files.h"
#include "run/run_options.h"

namespace trainyard::run {

// Lets the session's network start from the weights that the options name. Returns what starts from where,
// for people; empty: from the network's own initializers. `network_file`: the network's, or null. REQUIRES:
// the session's classes and input are settled. Error (usage, config) names the file, what is missing in it
// and what does not fit.
std::string give_weights(const RunOptions& options, const networks::NetworkFile* network_file,
                         train::SessionOptions& session);
// The same for the network that the options name.
std::string give_weights(const RunOptions& options, train::SessionOptions& session);

// Error (usage) where servers would share parameters that are not all trained.
void check_no_frozen(const RunOptions& options, const std::string& mode);

}  // namespace trainyard::run
