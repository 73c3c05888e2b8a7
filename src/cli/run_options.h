#pragma once

#include "cli/command.h"
#include "cli/option_checks.h"
#include "record/run_record.h"
#include "run/deployment_options.h"
#include "run/run_options.h"
#include "run/train_options.h"

namespace trainyard::launch {
struct PsPart;
}
namespace trainyard::study {
struct CostModel;
}

namespace trainyard::cli {

// network_first: the network may also be given as the first word, without its option.
void add_run_options(Command& command, run::RunOptions& options, bool network_first = false);

// Adds the options for a run's results; `explain` has none, because it records no run.
void add_output_options(Command& command, run::RunOptions& options);

// Adds the choice between training and inference, which `train` does not have.
void add_mode_option(Command& command, run::RunOptions& options);

// Says which of these options, and whether the mode, have no effect in this combination.
std::vector<Idle> idle_options(const run::RunOptions& options);

void print_input(const record::RunRecord& run);

void add_part_options(Command& command, launch::PsPart& part, bool server);

void add_resume_option(Command& command, run::ResumeOption& resume, const std::string& from);

void add_train_options(Command& command, run::TrainCommand& options);

// REQUIRES: the options of the workers are settled (deployment_options.h).
std::vector<Idle> idle_options(const run::TrainCommand& options);

// CostOptions names the model that estimates the runs of a study.
struct CostOptions {
  std::filesystem::path model, devices;  // no model, but a device: the models that the program carries
  std::string device;                    // empty: the only one of the model
};

void add_cost_options(Command& command, CostOptions& options);

// Null without a model and a device. Error (usage) lists the model's devices where one has to be chosen.
std::unique_ptr<study::CostModel> read_cost_model(const CostOptions& options);

}  // namespace trainyard::cli
