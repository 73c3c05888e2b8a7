#pragma once

namespace CLI {
class App;
}

#include <filesystem>
#include <functional>

#include <CLI/CLI.hpp>

#include "cli/train_options.h"

namespace trainyard::cli {

std::function<int()> declare_worker(CLI::App& command);

// This process as one rank of the job that mpirun or srun started. Rank 0 leaves the record at `result` where
// that is given, and prints it elsewhere. A rank that fails ends the job.
int train_as_rank(run::TrainCommand options, const std::filesystem::path& result = {});

// trainyard serve-params
std::function<int()> declare_serve_params(CLI::App& command);

}  // namespace trainyard::cli
