#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "data/dataset.h"
#include "data/staging.h"
#include "record/run_record.h"

namespace trainyard::cli {

// Which data a run is trained on, where its files are copied first, and when they are read.
struct InputOptions {
  data::DatasetOptions data{.name = "synthetic"};  // its `read` is set by load_input
  std::string read = "memory", staging = "in-place";
  std::filesystem::path staging_folder;
};

void add_input_options(CLI::App& command, InputOptions& options);

struct Input {
  std::unique_ptr<data::StagedFiles> staged;  // null: in place. Before the data set, which reads from it
  data::Dataset dataset;
  double load_seconds = 0;  // reading into memory, or opening
};

// Error (usage) names the option.
Input load_input(const InputOptions& options, bool quiet);

// What docs/formats/run-record.md says about input; and the same for people.
void add_input(record::RunRecord& run, const InputOptions& options, const Input& input);
void print_input(const record::RunRecord& run);

}  // namespace trainyard::cli
