#pragma once

#include <vector>

#include <CLI/CLI.hpp>

#include "cli/option_checks.h"
#include "record/run_record.h"
#include "run/run_options.h"

namespace trainyard::cli {

// network_first: the network may also be given as the first word, without its option.
void add_run_options(CLI::App& command, run::RunOptions& options, bool network_first = false);

// Adds the options for a run's results; `explain` has none, because it records no run.
void add_output_options(CLI::App& command, run::RunOptions& options);

// Adds the choice between training and inference, which `train` does not have.
void add_mode_option(CLI::App& command, run::RunOptions& options);

// Says which of these options, and whether the mode, have no effect in this combination.
std::vector<Idle> idle_options(const run::RunOptions& options);

void add_input_options(CLI::App& command, run::InputOptions& options);

void print_input(const record::RunRecord& run);

}  // namespace trainyard::cli
