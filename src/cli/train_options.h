#pragma once

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/deployment_options.h"
#include "cli/input_options.h"
#include "cli/ps_options.h"
#include "cli/run_options.h"
#include "cli/trace_options.h"
#include "cli/workers_options.h"
#include "train/training.h"

namespace trainyard::cli {

// What `train` is asked for; its workers are asked the same.
struct TrainCommand {
  RunOptions run;
  DeploymentOptions deployment;
  WorkersOptions workers;
  PsOptions ps;
  TraceOptions trace;
  InputOptions input;
  std::string preprocess, feed = "auto";
  std::int64_t steps = 0;
  double epochs = 1;
  std::filesystem::path out;
  bool resume = false, overwrite = false, no_eval = false;
  train::TrainOptions train;
};

void add_train_options(CLI::App& command, TrainCommand& options);

// What the parser cannot check; Error (usage) names the option.
void check(const TrainCommand& options);

}  // namespace trainyard::cli
