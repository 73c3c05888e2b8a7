#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/progress.h"
#include "data/source/dataset.h"
#include "data/view/staging.h"
#include "networks/generator/parameter.h"
#include "record/run_record.h"
#include "train/session/session.h"

namespace trainyard::run {

// The settings that bench, train and explain have in common: the network, how it is trained, where it runs.
struct RunOptions {
  std::string network = "deepmnist";
  std::int64_t batch = 128;
  int classes = 0;  // 0: the network's own
  networks::generator::Given parameters;
  std::string mode = "train";
  std::string backend = "auto", device = "cpu", precision = "f32", tuning = "full";
  int threads = 0;
  std::uint64_t seed = 1;
  std::string optimizer = "sgd";
  double learning_rate = 0;  // 0: 0.01, or 0.001 for adam and adamw
  std::string schedule = "constant";
  double decay_factor = 0.1, final_rate = 0;
  std::int64_t decay_steps = 0, warmup_steps = 0;
  double momentum = 0.9, weight_decay = 0, ema = 0, label_smoothing = 0;
  bool no_fusion = false;
  std::filesystem::path record;
  bool json = false, quiet = false;
};

// Sets one of them by its name ("decay_steps"), as a file gives it. Error (usage) says what is wrong with it.
void set_option(RunOptions& options, const std::string& name, const std::string& text);

// Error (usage) names the setting that is wrong.
train::SessionOptions to_session(const RunOptions& options);

// The data that a run is trained on, the place where its files are copied first, and when they are read.
struct InputOptions {
  data::DatasetOptions data{.name = "synthetic"};  // its `read` is set by load_input
  std::string read = "memory", staging = "in-place";
  std::filesystem::path staging_folder;
};

struct Input {
  std::unique_ptr<data::StagedFiles> staged;  // null: in place. Before the data set, which reads from it
  data::Dataset dataset;
  double load_seconds = 0;  // reading into memory, or opening
};

// Error (usage) names the option.
Input load_input(const InputOptions& options, ProgressListener* progress);

// Fills in what docs/formats/run-record.md says about input.
void add_input(record::RunRecord& run, const InputOptions& options, const Input& input);

}  // namespace trainyard::run
