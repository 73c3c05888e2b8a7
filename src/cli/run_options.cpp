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
  run::visit_settings(options, [&](const char* name, auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, networks::generator::Given>)
      add_parameter_options(command, field);
    else if constexpr (std::is_same_v<std::decay_t<decltype(field)>, bool>)
      add_setting(command, "train", name, field);
    else
      add_setting(command, "train", name, field,
                  network_first && std::string_view(name) == "network" ? "network," : "");
  });
}

void add_output_options(CLI::App& command, run::RunOptions& options) {
  add_output_file(command, "--record", options.record, "File for the run's record, as --json prints it");
  command.add_flag("--json", options.json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options.quiet, "No progress bar");
}

void add_mode_option(CLI::App& command, run::RunOptions& options) {
  add_setting(command, "bench", "mode", options.mode);
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
  add_setting(command, "train", "data", options.data.name);
  add_setting(command, "train", "from", options.data.folder);
  add_setting(command, "train", "cache", options.data.cache);
  add_setting(command, "train", "read", options.read);
  add_setting(command, "train", "staging", options.staging);
  add_setting(command, "train", "staging_folder", options.staging_folder);
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
