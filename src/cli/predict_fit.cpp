#include <cmath>
#include <memory>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/predict_commands.h"
#include "cli/predict_report.h"
#include "predict/fit_model.h"
#include "predict/model_file.h"

namespace trainyard::cli {
namespace {

struct FitCommandOptions {
  std::vector<std::filesystem::path> runs;
  std::filesystem::path output, devices, base;
  std::string device;
  bool skip_unknown = false, no_intervals = false, json = false;
};

predict::RunTable joined_tables(const FitCommandOptions& options) {
  predict::RunTable all;
  for (const std::filesystem::path& path : options.runs) {
    predict::RunTable table = predict::read_runs(path, options.device);
    all.source += (all.source.empty() ? "" : ", ") + table.source;
    all.runs.insert(all.runs.end(), table.runs.begin(), table.runs.end());
  }
  return all;
}

// What the model says of the runs it was made from: the least that can be asked of it.
void print_fit(const predict::TimeModel& model, const predict::RunSet& set,
               const std::vector<predict::Judged>& judged, const FitCommandOptions& options) {
  fmt::print("{} runs of {} networks on {} devices: {}\n", set.rows.size(), set.networks().size(),
             set.devices.size(), options.output.string());
  print_scores("device",
               scores_by(judged, [&](const predict::Judged& one) { return set.rows[one.row].run.device; }));
  fmt::print("errors are of the runs that were learned from; `predict eval --split` holds some out\n");
  if (model.calibration.fresh > 0)
    fmt::print(
        "90 % intervals: a factor of {:.3f} for networks that were seen, {:.3f} for others, more where "
        "the host decides\n",
        std::exp(model.calibration.known), std::exp(model.calibration.fresh));
  for (const auto& [name, count] : set.skipped)
    fmt::print("left out: {} runs of '{}', which is unknown\n", count, name);
}

int fit(const FitCommandOptions& options) {
  std::optional<predict::TimeModel> base;
  if (!options.base.empty()) base = predict::read_time_model(options.base);
  const predict::RunSet set = predict::prepare_runs(
      joined_tables(options),
      devices_to_choose_from(base ? base->seen_devices() : std::vector<predict::Device>{}, options.devices),
      options.skip_unknown);
  const predict::TimeModel model = predict::fit_model(
      set, predict::all_rows(set), {.calibrate = !options.no_intervals, .base = base ? &*base : nullptr});
  predict::write_time_model(model, options.output);
  const std::vector<predict::Judged> judged = predict::judge(model, set, predict::all_rows(set));
  if (!options.json) {
    print_fit(model, set, judged, options);
    return 0;
  }
  nlohmann::ordered_json report{{"model", options.output.string()},
                                {"runs", set.rows.size()},
                                {"networks", model.networks},
                                {"fitted", json_of_score(predict::score(judged))},
                                {"skipped", set.skipped}};
  fmt::print("{}\n", report.dump());
  return 0;
}

}  // namespace

std::function<int()> declare_predict_fit(CLI::App& command) {
  const auto options = std::make_shared<FitCommandOptions>();
  command.add_option("runs", options->runs, "Tables of runs (CSV), records, or folders of records")
      ->required()
      ->type_name("RUNS");
  command.add_option("--output,-o", options->output, "Where the model goes")->required()->type_name("MODEL");
  command
      .add_option("--base", options->base,
                  "Keep what this model knows, and learn only the devices of these runs")
      ->type_name("MODEL");
  command.add_option("--devices", options->devices, "Further devices (YAML)")->type_name("FILE");
  command.add_option("--device", options->device, "Records are of this device")->type_name("NAME");
  command.add_flag("--skip-unknown", options->skip_unknown,
                   "Leave out runs of unknown networks or devices, and count them");
  command.add_flag("--no-intervals", options->no_intervals, "Do not calibrate intervals: much faster");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Examples:\n"
      "  trainyard predict fit runs.csv --output model.json\n"
      "  trainyard predict fit runs.csv --base model.json --output adapted.json --no-intervals --json");
  return [options] { return fit(*options); };
}

}  // namespace trainyard::cli
