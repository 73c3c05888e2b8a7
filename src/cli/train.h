#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "cli/train_options.h"
#include "comm/collective/collective.h"
#include "record/run_record.h"

namespace trainyard::cli {

std::function<int()> declare_train(CLI::App& command);

// Trains; with `ranks` as one of them, and then only rank 0 prints, evaluates and keeps anything. The record
// goes to `result_file` instead of being printed, where one is given. Returns the exit code.
int train_network(const TrainCommand& options, comm::collective::Collective* ranks = nullptr,
                  const std::filesystem::path& result_file = {});

// Prints the record, which is also given as JSON, as the options ask; returns the exit code.
int report_training(const record::RunRecord& run, std::string_view json, const TrainCommand& options);

}  // namespace trainyard::cli
