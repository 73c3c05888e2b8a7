#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/run_options.h"
#include "train/deployment.h"

namespace trainyard::cli {

// On how many devices a run is deployed, and how they share the work.
struct DeploymentOptions {
  int devices = 1;
  std::string strategy = "single", scaling;
};

void add_deployment_options(CLI::App& command, DeploymentOptions& options);

// Whether it names a mode of parameter servers.
bool is_server_mode(const std::string& text);

// Error (usage) when devices would idle, when nothing says what becomes of the batch, or when it cannot be
// split.
train::Deployment to_deployment(const DeploymentOptions& options, std::int64_t batch);

}  // namespace trainyard::cli
