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

void add_run_options(CLI::App& command, run::RunOptions& options, bool network_first) {
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

void add_output_options(CLI::App& command, run::RunOptions& options) {
  add_output_file(command, "--record", options.record, "File for the run's record, as --json prints it");
  command.add_flag("--json", options.json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options.quiet, "No progress bar");
}

void add_mode_option(CLI::App& command, run::RunOptions& options) {
  command
      .add_option("--mode", options.mode,
                  "train, a step with its backward pass and update, or infer, the forward pass alone")
      ->capture_default_str();
}

std::vector<Idle> idle_options(const run::RunOptions& options) {
  const std::string schedule = "--schedule " + options.schedule;
  const bool infers = options.mode == "infer",
             decays = options.schedule == "step" || options.schedule == "exponential";
  const bool has_momentum =
      options.optimizer == "momentum" || options.optimizer == "nesterov" || options.optimizer == "rmsprop";
  std::vector<Idle> rules{
      {DeviceSpec::parse(options.device).is_cpu(), {"--tuning"}, "it is for GPUs"},
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

void add_input_options(CLI::App& command, run::InputOptions& options) {
  command.add_option("--data", options.data.name, "mnist, cifar10, or synthetic: made for the network")
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
