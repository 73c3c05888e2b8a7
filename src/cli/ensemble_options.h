#pragma once

#include <CLI/CLI.hpp>

#include "cli/train_options.h"
#include "ensemble/options.h"

namespace trainyard::cli {

void add_ensemble_options(CLI::App& command, ensemble::EnsembleOptions& options);

void add_ensemble_part(CLI::App& command, ensemble::EnsemblePart& part);

}  // namespace trainyard::cli
