#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "cli/run_report.h"
#include "cli/train_options.h"
#include "comm/collective/collective.h"
#include "record/run_record.h"

namespace trainyard::cli {

std::function<int()> declare_train(CLI::App& command);

// Trains; with `ranks` as one of them, and then only rank 0 prints, evaluates and keeps anything. The record
// goes to `result_file` instead of being printed, where one is given. Returns the exit code.
int train_network(const TrainCommand& options, comm::collective::Collective* ranks = nullptr,
                  const std::filesystem::path& result_file = {});

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

// Prints the record, which is also given as JSON, as the options ask; returns the exit code.
int report_training(const record::RunRecord& run, std::string_view json, const TrainCommand& options);

}  // namespace trainyard::cli
