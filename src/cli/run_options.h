#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/option_checks.h"
#include "data/source/dataset.h"
#include "data/view/staging.h"
#include "record/run_record.h"
#include "train/session.h"

namespace trainyard::cli {

// The options that bench, train and explain have in common: the network, how it is trained, where it runs.
struct RunOptions {
  std::string network = record::default_text("network");
  std::int64_t batch = record::default_whole("batch");
  int classes = 0;  // 0: the network's own
  networks::generator::Given parameters;
  std::string mode = record::default_text("mode", "bench");
  std::string backend = record::default_text("backend"), device = record::default_text("device"),
              precision = record::default_text("precision"), tuning = record::default_text("tuning");
  int threads = 0;
  std::uint64_t seed = static_cast<std::uint64_t>(record::default_whole("seed"));
  std::string optimizer = record::default_text("optimizer");
  double learning_rate = 0;  // 0: 0.01, or 0.001 for adam and adamw
  std::string schedule = record::default_text("schedule");
  double decay_factor = record::default_number("decay_factor"), final_rate = 0;
  std::int64_t decay_steps = 0, warmup_steps = 0;
  double momentum = record::default_number("momentum"), weight_decay = 0, ema = 0, label_smoothing = 0;
  bool no_fusion = false;
  std::filesystem::path record;
  bool json = false, quiet = false;
};

// network_first: the network may also be given as the first word, without its option.
void add_run_options(CLI::App& command, RunOptions& options, bool network_first = false);

// Adds the options for a run's results; `explain` has none, because it records no run.
void add_output_options(CLI::App& command, RunOptions& options);

// Adds the choice between training and inference, which `train` does not have.
void add_mode_option(CLI::App& command, RunOptions& options);

// Says which of these options, and whether the mode, have no effect in this combination.
std::vector<Idle> idle_options(const RunOptions& options);

// Checks what the parser cannot; Error (usage) names the option.
train::SessionOptions to_session(const RunOptions& options);

// The data that a run is trained on, the place where its files are copied first, and when they are read.
struct InputOptions {
  data::DatasetOptions data{.name = record::default_text("data")};  // its `read` is set by load_input
  std::string read = record::default_text("read"), staging = record::default_text("staging");
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

// add_input() fills in what docs/formats/run-record.md says about input; print_input() prints it.
void add_input(record::RunRecord& run, const InputOptions& options, const Input& input);
void print_input(const record::RunRecord& run);

}  // namespace trainyard::cli
