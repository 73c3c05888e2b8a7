#pragma once

#include <CLI/CLI.hpp>

#include "launch/ps_part.h"
#include "run/deployment_options.h"

namespace trainyard::cli {

void add_deployment_options(CLI::App& command, const char* of, run::DeploymentOptions& options);

void add_workers_options(CLI::App& command, run::WorkersOptions& options);

void add_ps_options(CLI::App& command, run::PsOptions& options);

void add_part_options(CLI::App& command, launch::PsPart& part, bool server);

}  // namespace trainyard::cli
