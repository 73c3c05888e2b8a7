#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "cli/run_options.h"
#include "meter/cpu.h"
#include "train/deployment.h"

namespace trainyard::cli {

// On how many devices a run is deployed, and how they share the work.
struct DeploymentOptions {
  int devices = 1;
  std::string strategy = "single", scaling;
};

void add_deployment_options(CLI::App& command, DeploymentOptions& options);

// Error (usage) when devices would idle, when nothing says what becomes of the batch, or when it cannot be
// split.
train::Deployment to_deployment(const DeploymentOptions& options, std::int64_t batch);

// What was consumed and used in the steps of a run, as counted.
struct Consumption {
  std::int64_t images_consumed = 0, steps = 0;
  meter::CpuUse cpu;
  std::span<const int> cores_in_reach;
};

// Adds the keys of the deployment to a report that has the shared ones, and the speed by images counted.
void add_deployment(nlohmann::ordered_json& report, const train::Deployment& deployment,
                    const Consumption& consumption);

}  // namespace trainyard::cli
