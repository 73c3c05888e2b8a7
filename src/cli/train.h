#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "record/run_record.h"
#include "run/train_options.h"
#include "run/training.h"

namespace trainyard::cli {

std::function<int()> declare_train(CLI::App& command);

// Reports what a training came to, or leaves its record at `result_file` where one is given; returns the exit
// code.
int finish_training(const run::TrainingOutcome& outcome, const run::TrainCommand& options,
                    const std::filesystem::path& result_file = {});

// Prints the record, which is also given as JSON, as the options ask; returns the exit code.
int report_training(const record::RunRecord& run, std::string_view json, const run::TrainCommand& options);

}  // namespace trainyard::cli
