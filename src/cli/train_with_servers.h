#pragma once

#include "cli/train_options.h"

namespace trainyard::cli {

// The state, made from the options, with which every process that trains begins.
struct TrainingSetup {
  train::Deployment deployment;
  train::SessionOptions session;  // with the batch of one device
  Input input;
  train::TrainOptions loop;
};

// Loads the data. Error (usage, config) when what was asked does not go together.
TrainingSetup set_up_training(const TrainCommand& options);
// Tells the user what the data set's note says; one process of a job does.
void tell_note(const TrainingSetup& setup);

// Starts servers and workers, trains with them, reports. Returns the exit code.
int train_with_servers(const TrainCommand& options);

// Runs one of the workers; `part` says which. Returns the exit code.
int work_for_servers(const TrainCommand& options, const PsPart& part);

}  // namespace trainyard::cli
