#pragma once

#include <type_traits>

#include "base/device_spec.h"
#include "base/progress.h"
#include "data/source/dataset.h"
#include "data/view/staging.h"
#include "networks/generator/parameter.h"
#include "networks/zoo/network_files.h"
#include "record/run_record.h"
#include "record/settings.h"
#include "train/session/session.h"

namespace trainyard::run {

// Returns the words of a choice: those of its row, or those of the folder that owns them. Empty: the setting
// takes any word.
std::vector<std::string> choices_of(const record::SettingInfo& setting);

// Returns the text for people, with the words in the place of {choices}: "sgd, momentum or adam".
std::string about(const record::SettingInfo& setting);

// Throws Error (usage) that names the setting, what is allowed and what was probably meant, for a word that
// is no choice of the command's setting.
void want_choice(const char* command, const char* setting, const std::string& given);

// Throws Error (usage) for a word that names none.
backend::Precision precision_of(const std::string& name);

// The settings that bench, train and explain have in common: the network, how it is trained, where it runs.
struct RunOptions {
  std::string network = record::default_text("network");
  std::int64_t batch = record::default_whole("batch");
  int classes = 0;  // 0: the network's own
  networks::generator::Given parameters;
  std::string mode = record::default_text("mode", "bench");
  std::string backend = record::default_text("backend");
  DeviceSpec device = DeviceSpec::parse(record::default_text("device"));
  std::string precision = record::default_text("precision"), tuning = record::default_text("tuning");
  int threads = 0;
  std::uint64_t seed = static_cast<std::uint64_t>(record::default_whole("seed"));
  std::string optimizer = record::default_text("optimizer");
  double learning_rate = 0;  // 0: 0.01, or 0.001 for adam and adamw
  std::string schedule = record::default_text("schedule");
  double decay_factor = record::default_number("decay_factor"), final_rate = 0;
  std::int64_t decay_steps = 0, warmup_steps = 0;
  double momentum = record::default_number("momentum"), weight_decay = 0, ema = 0, label_smoothing = 0;
  bool decay_matrices_only = false;
  double clip_norm = 0;           // 0: gradients are not clipped
  std::filesystem::path weights;  // a file, or a folder of checkpoints; empty: random numbers
  bool new_head = false, partial_weights = false;
  std::string freeze;  // patterns, with commas between them
  bool no_fusion = false;
  std::string memory_limit;  // of the memory of a step's plan: 512MiB, 4GB; empty: none
  std::filesystem::path record;
  bool json = false, quiet = false;
};

// Calls visit(name, field) for each of them that is a row of the table (record/settings.h); parameters of
// generated networks come as one field. Options of the command line and `asked` of a record are made by it;
// other structs of options have one, too.
template <typename Visit>
void visit_settings(RunOptions& options, const Visit& visit) {
  visit("network", options.network);
  visit("batch", options.batch);
  visit("classes", options.classes);
  visit("", options.parameters);
  visit("backend", options.backend);
  visit("device", options.device);
  visit("precision", options.precision);
  visit("tuning", options.tuning);
  visit("threads", options.threads);
  visit("seed", options.seed);
  visit("weights", options.weights);
  visit("new_head", options.new_head);
  visit("partial_weights", options.partial_weights);
  visit("freeze", options.freeze);
  visit("optimizer", options.optimizer);
  visit("lr", options.learning_rate);
  visit("schedule", options.schedule);
  visit("decay_steps", options.decay_steps);
  visit("decay_factor", options.decay_factor);
  visit("final_lr", options.final_rate);
  visit("warmup_lr_steps", options.warmup_steps);
  visit("momentum", options.momentum);
  visit("weight_decay", options.weight_decay);
  visit("decay_matrices_only", options.decay_matrices_only);
  visit("clip_norm", options.clip_norm);
  visit("ema", options.ema);
  visit("label_smoothing", options.label_smoothing);
  visit("no_fusion", options.no_fusion);
  visit("memory_limit", options.memory_limit);
}

// Adds the settings of `options` to `asked` of a record, as their rows for the command ("bench", "train",
// "ensemble") want it.
template <typename Options>
void add_asked(const char* command, Options options, record::Settings& asked) {
  const auto add = [&](const char* name, const auto& field) {
    record::add_asked(record::setting_of(name, command), record::as_given(field), asked);
  };
  visit_settings(options, [&]<typename Field>(const char* name, const Field& field) {
    if constexpr (std::is_same_v<Field, std::optional<double>>) {
      if (field) asked[name] = record::as_given(*field);
    } else if constexpr (!std::is_same_v<Field, networks::generator::Given>) {
      add(name, field);
    }
  });
}

// Returns what a run was asked for, with all parameters of a generated network, so that records of a family
// can be compared by their sizes.
record::Settings asked_of(const RunOptions& options);

// Sets one of them by its name ("decay_steps"), as a file gives it. Error (usage) says what is wrong with it.
void set_option(RunOptions& options, const std::string& name, const std::string& text);

// Error (usage) names the setting that is wrong.
train::SessionOptions to_session(const RunOptions& options);

// The data that a run is trained on, the place where its files are copied first, and when they are read.
struct InputOptions {
  data::DatasetOptions data{.name = record::default_text("data")};  // its `read` is set by load_input
  std::string read = record::default_text("read"), staging = record::default_text("staging");
  std::filesystem::path staging_folder;
};

template <typename Visit>
void visit_settings(InputOptions& options, const Visit& visit) {
  visit("data", options.data.name);
  visit("from", options.data.folder);
  visit("cache", options.data.cache);
  visit("read", options.read);
  visit("staging", options.staging);
  visit("staging_folder", options.staging_folder);
}

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
