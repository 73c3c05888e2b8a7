#include "cli/run_options.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/units.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "networks/zoo/zoo.h"

namespace trainyard::cli {

namespace {

ops::Schedule to_schedule(const RunOptions& options) {
  using Kind = ops::Schedule::Kind;
  want_choice("train", "schedule", options.schedule);
  ops::Schedule schedule;
  const bool adaptive = options.optimizer.starts_with("adam");
  schedule.rate = options.learning_rate > 0 ? options.learning_rate : adaptive ? 1e-3 : 1e-2;
  schedule.kind = options.schedule == "step"          ? Kind::step_decay
                  : options.schedule == "exponential" ? Kind::exponential_decay
                  : options.schedule == "cosine"      ? Kind::cosine
                                                      : Kind::constant;
  if (schedule.kind != Kind::constant && options.decay_steps < 1)
    fail(ErrorKind::usage, "--schedule {}: wants --decay-steps, at least 1", options.schedule);
  schedule.factor = options.decay_factor;
  schedule.decay_steps = options.decay_steps;
  schedule.final_rate = options.final_rate;
  schedule.warmup_steps = options.warmup_steps;
  return schedule;
}

ops::UpdateAttrs to_update(const RunOptions& options) {
  want_choice("train", "optimizer", options.optimizer);
  ops::UpdateAttrs update;
  update.schedule = to_schedule(options);
  update.momentum = options.momentum;
  update.ema_decay = options.ema;
  if (options.optimizer == "momentum" || options.optimizer == "nesterov") update.rule = ops::Rule::momentum;
  update.nesterov = options.optimizer == "nesterov";
  if (options.optimizer == "rmsprop") {
    update.rule = ops::Rule::rmsprop;
    update.epsilon = 1.0;  // as the origin of this form sets it
  }
  if (options.optimizer.starts_with("adam")) update.rule = ops::Rule::adam;
  if (options.optimizer == "adamw") {
    update.decoupled_decay = true;
    update.weight_decay = options.weight_decay;
  }
  return update;
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options, bool network_first) {
  const auto add = [&](const char* name, auto& value) { add_setting(command, "train", name, value); };
  add_setting(command, "train", "network", options.network, network_first ? "network," : "");
  add("batch", options.batch);
  add("classes", options.classes);
  add_parameter_options(command, options.parameters);
  add("backend", options.backend);
  add("device", options.device);
  add("precision", options.precision);
  add("tuning", options.tuning);
  add("threads", options.threads);
  add("seed", options.seed);
  add("optimizer", options.optimizer);
  add("lr", options.learning_rate);
  add("schedule", options.schedule);
  add("decay_steps", options.decay_steps);
  add("decay_factor", options.decay_factor);
  add("final_lr", options.final_rate);
  add("warmup_lr_steps", options.warmup_steps);
  add("momentum", options.momentum);
  add("weight_decay", options.weight_decay);
  add("ema", options.ema);
  add("label_smoothing", options.label_smoothing);
  add("no_fusion", options.no_fusion);
}

void add_output_options(CLI::App& command, RunOptions& options) {
  add_output_file(command, "--record", options.record, "File for the run's record, as --json prints it");
  command.add_flag("--json", options.json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options.quiet, "No progress bar");
}

void add_mode_option(CLI::App& command, RunOptions& options) {
  add_setting(command, "bench", "mode", options.mode);
}

std::vector<Idle> idle_options(const RunOptions& options) {
  const std::string schedule = "--schedule " + options.schedule;
  const bool infers = options.mode == "infer",
             decays = options.schedule == "step" || options.schedule == "exponential";
  const bool has_momentum =
      options.optimizer == "momentum" || options.optimizer == "nesterov" || options.optimizer == "rmsprop";
  std::vector<Idle> rules{
      {options.device == "cpu", {"--tuning"}, "it is for GPUs"},
      {infers,
       {"--optimizer", "--lr", "--schedule", "--decay-steps", "--decay-factor", "--final-lr",
        "--warmup-lr-steps", "--momentum", "--weight-decay", "--ema", "--label-smoothing"},
       "--mode infer updates nothing"}};
  if (infers) return rules;
  rules.push_back({options.schedule == "constant", {"--decay-steps"}, schedule + " decays nothing"});
  rules.push_back({!decays, {"--decay-factor"}, schedule + " has none"});
  rules.push_back({options.schedule != "cosine", {"--final-lr"}, schedule + " has none"});
  rules.push_back({!has_momentum, {"--momentum"}, "--optimizer " + options.optimizer + " has none"});
  return rules;
}

train::SessionOptions to_session(const RunOptions& options) {
  networks::find_network(options.network, options.parameters);
  want_choice("bench", "mode", options.mode);
  want_choice("train", "precision", options.precision);
  want_choice("train", "tuning", options.tuning);
  train::SessionOptions session;
  session.update = to_update(options);
  session.model = {.network = options.network,
                   .batch = options.batch,
                   .classes = options.classes,
                   .parameters = options.parameters,
                   .training = options.mode == "train",
                   .label_smoothing = options.label_smoothing,
                   .weight_decay = options.optimizer == "adamw" ? 0 : options.weight_decay};
  session.backend = options.backend;
  session.device = options.device;
  session.precision = options.precision == "tf32"   ? backend::Precision::tf32
                      : options.precision == "bf16" ? backend::Precision::bf16
                                                    : backend::Precision::f32;
  session.tuning = options.tuning == "quick" ? backend::Effort::quick : backend::Effort::full;
  session.threads = options.threads;
  session.seed = options.seed;
  session.fuse = !options.no_fusion;
  return session;
}

namespace {

using Json = nlohmann::ordered_json;

template <typename Mode>
struct Choice {
  const char* name;
  Mode mode;
};

template <typename Mode, std::size_t kCount>
Mode choose(const char* setting, const std::string& given, const Choice<Mode> (&choices)[kCount]) {
  want_choice("train", setting, given);
  for (const Choice<Mode>& choice : choices)
    if (given == choice.name) return choice.mode;
  fail(ErrorKind::internal, "{} '{}' has no meaning", setting, given);
}

constexpr Choice<data::ReadMode> kReadModes[] = {
    {"memory", data::ReadMode::memory}, {"mmap", data::ReadMode::mmap}, {"stream", data::ReadMode::stream}};

using MaybeTarget = std::optional<data::StagingTarget>;
constexpr Choice<MaybeTarget> kStaging[] = {{"in-place", std::nullopt},
                                            {"local", data::StagingTarget::local},
                                            {"memory", data::StagingTarget::memory}};

}  // namespace

void add_input_options(CLI::App& command, InputOptions& options) {
  add_setting(command, "train", "data", options.data.name);
  add_setting(command, "train", "from", options.data.folder);
  add_setting(command, "train", "cache", options.data.cache);
  add_setting(command, "train", "read", options.read);
  add_setting(command, "train", "staging", options.staging);
  add_setting(command, "train", "staging_folder", options.staging_folder);
}

Input load_input(const InputOptions& options, bool quiet) {
  data::DatasetOptions wanted = options.data;
  wanted.read = choose("read", options.read, kReadModes);
  const MaybeTarget target = choose("staging", options.staging, kStaging);
  if (!target && !options.staging_folder.empty())
    fail(ErrorKind::usage, "--staging-folder wants --staging local or memory");
  Input input;
  if (target) {
    if (wanted.name == "synthetic")
      fail(ErrorKind::usage, "--staging {}: data set 'synthetic' has no files", options.staging);
    input.staged = std::make_unique<data::StagedFiles>(
        wanted.name, data::find_dataset(wanted),
        data::StagingOptions{
            .target = *target, .folder = options.staging_folder, .progress = terminal_progress(quiet)});
    wanted.folder = input.staged->folder();
  }
  const double began = now_seconds();
  input.dataset = data::load_dataset(wanted);
  input.load_seconds = now_seconds() - began;
  return input;
}

void add_input(record::RunRecord& run, const InputOptions& options, const Input& input) {
  run.asked["data"] = options.data.name;
  run.asked["read"] = options.read;
  run.asked["staging"] = options.staging;
  run.words["data"] = options.data.name;
  run.words["read"] = options.read;
  run.words["staging"] = options.staging;
  run.figures["load_seconds"] = input.load_seconds;
  if (options.read == "stream") {
    const data::ReadCost cost = input.dataset.train.source()->cost();
    run.figures["bytes_read"] = static_cast<double>(cost.bytes);
    run.figures["read_seconds"] = cost.seconds;
  }
  if (input.staged == nullptr) return;
  const data::StagingReport& staged = input.staged->report();
  run.words["staging_folder"] = staged.folder.parent_path().string();
  run.words["staging_filesystem"] = staged.filesystem;
  run.figures["staging_bytes"] = static_cast<double>(staged.bytes);
  run.figures["staging_seconds"] = staged.seconds;
  run.figures["staging_verify_seconds"] = staged.verify_seconds;
  run.figures["staging_bytes_per_second"] = staged.bytes_per_second();
  run.figures["staging_source_cached_fraction"] = staged.source_cached_fraction;
  Json files = Json::array();
  for (const data::CachedFile& file : staged.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  run.details["staging_files"] = files.dump();
}

void print_input(const record::RunRecord& run) {
  const auto bytes = [&](record::NumberName name) {
    return format_bytes(static_cast<std::int64_t>(run.figure_or(name, 0)));
  };
  const auto seconds = [&](record::NumberName name) { return format_seconds(run.figure_or(name, 0)); };
  if (run.figures.contains("bytes_read"))
    fmt::print("{:<20} {} in {}, batch by batch\n", "read", bytes("bytes_read"), seconds("read_seconds"));
  if (run.figures.contains("staging_bytes"))
    fmt::print("{:<20} {} to '{}' ({}) in {} ({} verifying), {:.0f} % came from the page cache\n", "staged",
               bytes("staging_bytes"), run.words.at("staging_folder"), run.words.at("staging_filesystem"),
               seconds("staging_seconds"), seconds("staging_verify_seconds"),
               100 * run.figure_or("staging_source_cached_fraction", 0));
}

}  // namespace trainyard::cli
