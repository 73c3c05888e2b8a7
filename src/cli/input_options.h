#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "data/dataset.h"
#include "data/staging.h"

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

// The keys of docs/formats/run-record.md about input; and the same for people.
void add_input_report(nlohmann::ordered_json& report, const InputOptions& options, const Input& input);
void print_input_report(const nlohmann::ordered_json& report);

}  // namespace trainyard::cli
