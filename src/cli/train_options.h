#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/deployment_options.h"
#include "cli/input_options.h"
#include "cli/option_checks.h"
#include "cli/ps_options.h"
#include "cli/run_options.h"
#include "cli/trace_options.h"
#include "cli/workers_options.h"
#include "train/training.h"

namespace trainyard::cli {

// --resume: go on from checkpoints, which must be there. --resume=auto: go on where there are any, or begin.
struct ResumeOption {
  std::string value;

  bool is_given() const { return !value.empty(); }
  bool is_auto() const { return value == "auto"; }
};
void add_resume_option(CLI::App& command, ResumeOption& resume, const std::string& from);

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
  ResumeOption resume;
  bool overwrite = false, no_eval = false;
  train::TrainOptions train;
};

void add_train_options(CLI::App& command, TrainCommand& options);

// What the parser cannot check; Error (usage) names the option.
void check(const TrainCommand& options);

// REQUIRES: what workers do is settled (workers_options.h).
std::vector<Idle> idle_options(const TrainCommand& options);

}  // namespace trainyard::cli
