#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/deployment_options.h"
#include "cli/option_checks.h"
#include "cli/run_options.h"
#include "run/train_options.h"

namespace trainyard::cli {

void add_resume_option(CLI::App& command, run::ResumeOption& resume, const std::string& from);

void add_train_options(CLI::App& command, run::TrainCommand& options);

// REQUIRES: the options of the workers are settled (deployment_options.h).
std::vector<Idle> idle_options(const run::TrainCommand& options);

void add_trace_options(CLI::App& command, run::TraceOptions& options);

}  // namespace trainyard::cli
