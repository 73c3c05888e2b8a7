#pragma once

#include "comm/collective/collective.h"
#include "record/run_record.h"
#include "run/run_record.h"
#include "run/train_options.h"
#include "train/loop/run_folder.h"
#include "train/loop/training.h"

namespace trainyard::run {

// The state, made from the options, with which every process that trains begins.
struct TrainingSetup {
  train::Deployment deployment;
  train::SessionOptions session;  // with the batch of one device
  Input input;
  train::TrainOptions loop;
  std::string start;  // for people: from which weights; empty: the network's own initializers
};

// Loads a data set for a network: synthetic images and sequences have its sizes. Error (usage) when it cannot
// read such data or has fewer classes.
Input load_for(const networks::NetworkInfo& network, const networks::ModelOptions& model, std::uint64_t seed,
               InputOptions options, ProgressListener* progress);

// Loads the data. Error (usage, config) when what was asked does not go together.
TrainingSetup set_up_training(const TrainCommand& options);
// Tells the user what the notes of the data set and of the first weights say; one process of a job does.
void tell_note(const TrainingSetup& setup);

struct TrainingOutcome {
  bool interrupted = false;
  std::optional<record::RunRecord> run;  // none in ranks other than 0
};

// Trains; with `ranks` as one of them, and then only rank 0 evaluates and keeps anything.
TrainingOutcome train_network(const TrainCommand& options, comm::collective::Collective* ranks = nullptr);

// Returns the measurement of the result's steps, without a peak. It views into `result`, which must outlive
// it.
Measurement measurement_of(const train::TrainResult& result);

// Sets status, reason and exit code of a run that was interrupted or whose loss diverged; leaves other runs
// as they are.
void set_end(record::RunRecord& run, const train::TrainResult& result);

// Returns the record of a training. `peak_flops_per_second` is the result of measure_peak().
record::RunRecord training_record(const RunStart& start, const TrainCommand& options, const Input& input,
                                  const train::Deployment& deployment, const train::TrainResult& result,
                                  double peak_flops_per_second);

// Opens one folder for the run, or one for each independent device; none without --out.
std::vector<std::unique_ptr<train::RunFolder>> open_folders(const TrainCommand& options,
                                                            const train::Deployment& deployment);

}  // namespace trainyard::run
