#include "cli/run_options.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/nearest_name.h"
#include "base/units.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "networks/zoo/zoo.h"

namespace trainyard::cli {

namespace {

ops::Schedule to_schedule(const RunOptions& options) {
  using Kind = ops::Schedule::Kind;
  want_one_of("--schedule", options.schedule, {"constant", "step", "exponential", "cosine"});
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
  want_one_of("--optimizer", options.optimizer, {"sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"});
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

void want_one_of(const char* option, const std::string& given, const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), given) != allowed.end()) return;
  std::string list;
  for (const std::string& name : allowed) list += (list.empty() ? "" : ", ") + name;
  fail(ErrorKind::usage, "{} '{}'{}: one of {}", option, given, did_you_mean(given, allowed), list);
}

void add_run_options(CLI::App& command, RunOptions& options, bool network_first) {
  command
      .add_option(network_first ? "network,--network,-n" : "--network,-n", options.network,
                  "Network; `trainyard networks` lists them")
      ->capture_default_str();
  command.add_option("--batch,-b", options.batch, "Images, or sequences, per step")
      ->transform(within("batch"))
      ->capture_default_str();
  command.add_option("--classes", options.classes, "Classes (default: the network's own, or the data set's)")
      ->transform(within("classes"));
  add_parameter_options(command, options.parameters);
  command.add_option("--backend", options.backend, "auto, onednn, cuda, reference or null")
      ->capture_default_str();
  command.add_option("--device", options.device, "cpu, cuda (the first GPU) or cuda:1")
      ->capture_default_str();
  command
      .add_option("--precision", options.precision,
                  "f32, tf32 or bf16 (with f32 master weights); the last two on cuda")
      ->capture_default_str();
  command
      .add_option("--tuning", options.tuning,
                  "How hard a GPU's libraries are searched for the fastest way: full, or quick, for sweeps")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "CPU threads (default: all cores)")
      ->transform(within("threads"));
  command.add_option("--seed", options.seed, "Seed of everything random")
      ->transform(within("seed"))
      ->capture_default_str();
  command.add_option("--optimizer", options.optimizer, "sgd, momentum, nesterov, rmsprop, adam or adamw")
      ->capture_default_str();
  command.add_option("--lr", options.learning_rate, "Learning rate (default: 0.01; adam and adamw 0.001)")
      ->transform(within("lr"));
  command.add_option("--schedule", options.schedule, "constant, step, exponential or cosine")
      ->capture_default_str();
  command.add_option("--decay-steps", options.decay_steps, "Steps per decay, or of the whole cosine")
      ->transform(within("decay_steps"));
  command.add_option("--decay-factor", options.decay_factor, "Factor per decay")
      ->transform(within("decay_factor"))
      ->capture_default_str();
  command.add_option("--final-lr", options.final_rate, "Where the cosine ends")
      ->transform(within("final_lr"))
      ->capture_default_str();
  command
      .add_option("--warmup-lr-steps", options.warmup_steps, "Steps of linear warm-up of the learning rate")
      ->transform(within("warmup_lr_steps"));
  command.add_option("--momentum", options.momentum, "Momentum")
      ->transform(within("momentum"))
      ->capture_default_str();
  command.add_option("--weight-decay", options.weight_decay, "L2 penalty on weights; decoupled for adamw")
      ->transform(within("weight_decay"));
  command.add_option("--ema", options.ema, "Decay of the moving average of the weights; 0: none")
      ->transform(within("ema"));
  command.add_option("--label-smoothing", options.label_smoothing, "Label smoothing")
      ->transform(within("label_smoothing"));
  command.add_flag("--no-fusion", options.no_fusion, "Run every op by itself");
}

void add_output_options(CLI::App& command, RunOptions& options) {
  add_output_file(command, "--record", options.record, "File for the run's record, as --json prints it");
  command.add_flag("--json", options.json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options.quiet, "No progress bar");
}

void add_mode_option(CLI::App& command, RunOptions& options) {
  command
      .add_option("--mode", options.mode,
                  "train, a step with its backward pass and update, or infer, the forward pass alone")
      ->capture_default_str();
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
  want_one_of("--mode", options.mode, {"train", "infer"});
  want_one_of("--precision", options.precision, {"f32", "tf32", "bf16"});
  want_one_of("--tuning", options.tuning, {"full", "quick"});
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
Mode choose(const char* option, const std::string& given, const Choice<Mode> (&choices)[kCount]) {
  std::vector<std::string> names;
  for (const Choice<Mode>& choice : choices) {
    if (given == choice.name) return choice.mode;
    names.emplace_back(choice.name);
  }
  fail(ErrorKind::usage, "{} '{}'{}: one of {}", option, given, did_you_mean(given, names),
       fmt::join(names, ", "));
}

constexpr Choice<data::ReadMode> kReadModes[] = {
    {"memory", data::ReadMode::memory}, {"mmap", data::ReadMode::mmap}, {"stream", data::ReadMode::stream}};

using MaybeTarget = std::optional<data::StagingTarget>;
constexpr Choice<MaybeTarget> kStaging[] = {{"in-place", std::nullopt},
                                            {"local", data::StagingTarget::local},
                                            {"memory", data::StagingTarget::memory}};

}  // namespace

void add_input_options(CLI::App& command, InputOptions& options) {
  command
      .add_option("--data", options.data.name,
                  "mnist, cifar10; synthetic: made for the network; tfrecord:DIR, record files as data pack "
                  "writes them; folder:DIR, JPEGs and PNGs in a folder a class; text:FILE, for networks that "
                  "read sequences")
      ->capture_default_str();
  command.add_option("--from", options.data.folder, "Folder with the data set's files (default: the cache)")
      ->type_name("DIR");
  command.add_option("--cache", options.data.cache, "Cache folder (default: ~/.cache/trainyard)")
      ->type_name("DIR");
  command
      .add_option("--read", options.read,
                  "memory: all images at the start; mmap: pages as they are touched; stream: batch by batch")
      ->capture_default_str();
  command
      .add_option("--staging", options.staging,
                  "in-place; local, memory: copy the files to a local disk or a tmpfs first, and verify them")
      ->capture_default_str();
  command
      .add_option("--staging-folder", options.staging_folder,
                  "Where to stage (default: $SLURM_TMPDIR, $LOCAL, $TMPDIR or /tmp; memory: /dev/shm)")
      ->type_name("DIR");
}

Input load_input(const InputOptions& options, bool quiet) {
  data::DatasetOptions wanted = options.data;
  wanted.read = choose("--read", options.read, kReadModes);
  const MaybeTarget target = choose("--staging", options.staging, kStaging);
  if (!target && !options.staging_folder.empty())
    fail(ErrorKind::usage, "--staging-folder wants --staging local or memory");
  Input input;
  if (target) {
    const std::vector<std::string>& staged = data::file_dataset_names();
    if (std::find(staged.begin(), staged.end(), wanted.name) == staged.end())
      fail(ErrorKind::usage, "--staging {}: data set '{}' {}", options.staging, wanted.name,
           wanted.name == "synthetic" ? "has no files" : "is read where it lies");
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
  const auto bytes = [&](const char* name) {
    return format_bytes(static_cast<std::int64_t>(run.figure_or(name, 0)));
  };
  const auto seconds = [&](const char* name) { return format_seconds(run.figure_or(name, 0)); };
  if (run.figures.contains("bytes_read"))
    fmt::print("{:<20} {} in {}, batch by batch\n", "read", bytes("bytes_read"), seconds("read_seconds"));
  if (run.figures.contains("staging_bytes"))
    fmt::print("{:<20} {} to '{}' ({}) in {} ({} verifying), {:.0f} % came from the page cache\n", "staged",
               bytes("staging_bytes"), run.words.at("staging_folder"), run.words.at("staging_filesystem"),
               seconds("staging_seconds"), seconds("staging_verify_seconds"),
               100 * run.figure_or("staging_source_cached_fraction", 0));
}

}  // namespace trainyard::cli
