#include "base/error.h"
#include "base/json.h"
#include "cli/outputs.h"
#include "cli/predict.h"
#include "predict/analytic/fit_model.h"
#include "predict/kernels/kernel_model.h"
#include "process/stop_request.h"

namespace trainyard::cli {
namespace {

struct FitCommandOptions {
  std::vector<std::string> runs;
  std::filesystem::path output, devices, base, checkpoints;
  std::string device;
  GraphKindOptions graph;
  std::uint64_t seed = predict::GraphRunFit{}.seed;
  bool skip_unknown = false, no_intervals = false, json = false, quiet = false;
};

// Prints how well the model predicts the runs that it was fitted to, which is the least to ask of a model.
void print_fit(const predict::RunSet& set, const std::vector<predict::Judged>& judged,
               const FitCommandOptions& options) {
  fmt::print("{} runs of {} networks on {} devices: {}\n", set.rows.size(), set.networks().size(),
             set.devices.size(), options.output.string());
  print_scores("device",
               scores_by(judged, [&](const predict::Judged& one) { return set.rows[one.row].run.device; }));
  print_use_scores(predict::score_use(set, judged));
  fmt::print("errors are of the runs that were learned from; `predict eval --split` holds some out\n");
  for (const auto& [name, count] : set.skipped)
    fmt::print("left out: {} runs of '{}', which is unknown or has changed\n", count, name);
}

predict::RunSet set_to_fit(const FitCommandOptions& options, const std::vector<predict::DeviceSheet>& seen) {
  predict::RunSet set =
      predict::prepare_runs(joined_runs(options.runs, options.device),
                            devices_to_choose_from(seen, options.devices), options.skip_unknown);
  process::StopRequest::check();  // there is nothing to keep yet
  return set;
}

// Reports a fit that was asked to stop. `what` says what the written model lacks, or how to continue the fit.
int report_partial(const FitCommandOptions& options, const predict::RunSet& set, bool written,
                   const std::string& what) {
  if (options.json)
    fmt::print("{}\n", json_text(Json{{"model", written ? options.output.string() : ""},
                                      {"kind", options.graph.kind},
                                      {"runs", set.rows.size()},
                                      {"interrupted", true}}));
  return report_interrupted("predict fit: interrupted" + what);
}

int fit_graph(const FitCommandOptions& options) {
  std::optional<predict::GraphRunModel> base;
  if (!options.base.empty())
    base = predict::parse_graph_run_model(predict::read_model_container(options.base), options.base.string());
  const predict::RunSet set =
      set_to_fit(options, base ? base->seen_devices() : std::vector<predict::DeviceSheet>{});
  const predict::GraphRunResult fitted = fit_graph_kind(
      set, predict::all_rows(set), {}, options.graph,
      {.seed = options.seed, .base = base ? &*base : nullptr, .folder = options.checkpoints}, options.quiet);
  if (fitted.interrupted && !options.checkpoints.empty())
    return report_partial(
        options, set, false,
        fmt::format(" after {} epochs; the same command goes on from there", fitted.epochs));
  predict::write_graph_run_model(fitted.model, options.output);
  if (fitted.interrupted)
    return report_partial(options, set, true,
                          fmt::format(" after {} epochs; the best model so far, of epoch {}, is in '{}'",
                                      fitted.epochs, fitted.best_epoch + 1, options.output.string()));
  const auto predictor = predict::make_predictor(fitted.model);
  const std::vector<predict::Judged> judged = predict::judge(*predictor, set, predict::all_rows(set));
  if (!options.json) {
    print_fit(set, judged, options);
    fmt::print("best after {} of {} epochs; 90 % intervals: a factor of {:.3f}\n", fitted.best_epoch + 1,
               fitted.epochs, std::exp(fitted.model.half_interval));
    return 0;
  }
  const Json report{{"model", options.output.string()},
                    {"kind", options.graph.kind},
                    {"runs", set.rows.size()},
                    {"networks", fitted.model.networks},
                    {"epochs", fitted.epochs},
                    {"best_epoch", fitted.best_epoch},
                    {"fitted", json_of_score(predict::score(judged))},
                    {"utilisation", json_of_use_scores(predict::score_use(set, judged))},
                    {"skipped", set.skipped}};
  fmt::print("{}\n", json_text(report));
  return 0;
}

int fit_kernels(const FitCommandOptions& options) {
  if (!options.base.empty())
    fail(ErrorKind::usage,
         "--base: a model of kernels is fitted to all runs at once; give the old ones, too");
  const predict::RunSet set = set_to_fit(options, {});
  const predict::KernelModel model = predict::fit_kernel_model(
      set, predict::all_rows(set), !options.no_intervals, process::StopRequest::asked);
  predict::write_model_container(options.output, predict::to_container(model));
  if (process::StopRequest::asked())
    return report_partial(options, set, true,
                          fmt::format("; the model so far is in '{}', and may lack "
                                      "intervals and memory",
                                      options.output.string()));
  const std::vector<predict::Judged> judged =
      predict::judge(*predict::make_predictor(model), set, predict::all_rows(set));
  if (!options.json) {
    print_fit(set, judged, options);
    if (!options.no_intervals)
      for (std::size_t kind = 0; kind < predict::kStepKinds; ++kind)
        fmt::print("90 % intervals: a factor of {:.3f} for typical {} networks that were not seen\n",
                   std::exp(model.intervals.halves[kind]), name(static_cast<predict::StepKind>(kind)));
    return 0;
  }
  const Json report{{"model", options.output.string()},
                    {"kind", options.graph.kind},
                    {"runs", set.rows.size()},
                    {"networks", model.networks},
                    {"kernels", model.kernels().size()},
                    {"fitted", json_of_score(predict::score(judged))},
                    {"skipped", set.skipped}};
  fmt::print("{}\n", json_text(report));
  return 0;
}

int fit(const FitCommandOptions& options) {
  const process::StopRequest guard;
  if (options.graph.is_graph()) return fit_graph(options);
  if (options.graph.is_kernels()) return fit_kernels(options);
  std::optional<predict::TimeModel> base;
  if (!options.base.empty()) base = predict::read_time_model(options.base);
  const predict::RunSet set =
      set_to_fit(options, base ? base->seen_devices() : std::vector<predict::DeviceSheet>{});
  const predict::TimeModel model = predict::fit_model(set, predict::all_rows(set),
                                                      {.calibrate = !options.no_intervals,
                                                       .base = base ? &*base : nullptr,
                                                       .stop = process::StopRequest::asked});
  predict::write_time_model(model, options.output);
  if (process::StopRequest::asked())
    return report_partial(options, set, true,
                          fmt::format("; the model so far is in '{}'{}", options.output.string(),
                                      model.calibration.fresh > 0 ? "" : ", without intervals"));
  const std::vector<predict::Judged> judged = predict::judge(model, set, predict::all_rows(set));
  if (!options.json) {
    print_fit(set, judged, options);
    if (model.calibration.fresh > 0)
      fmt::print(
          "90 % intervals: a factor of {:.3f} for networks that were seen, more where the host decides; for "
          "others {:.1f} deviations of what the constants leave open\n",
          std::exp(model.calibration.known), model.calibration.fresh);
    return 0;
  }
  Json report{{"model", options.output.string()},
              {"kind", options.graph.kind},
              {"runs", set.rows.size()},
              {"networks", model.networks},
              {"fitted", json_of_score(predict::score(judged))},
              {"utilisation", json_of_use_scores(predict::score_use(set, judged))},
              {"skipped", set.skipped}};
  fmt::print("{}\n", json_text(report));
  return 0;
}

}  // namespace

std::function<int()> declare_predict_fit(Command& command) {
  const auto options = std::make_shared<FitCommandOptions>();
  command
      .add_option(
          "runs", options->runs,
          "Tables of runs (CSV), records (.json, .jsonl, .jsonl.gz), folders of records; DEVICE=RUNS says "
          "whose records they are")
      ->required()
      ->type_name("RUNS");
  add_output_file(command, "--output,-o", options->output, "Where the model goes")
      ->required()
      ->type_name("MODEL");
  command
      .add_option("--base", options->base,
                  "Keep what this model knows, and learn only the devices of these runs")
      ->type_name("MODEL");
  command.add_option("--devices", options->devices, "Further devices (YAML)")->type_name("FILE");
  command.add_option("--device", options->device, "Records are of this device")->type_name("NAME");
  command.add_flag("--skip-unknown", options->skip_unknown,
                   "Leave out runs of unknown networks or devices, and of network files that have changed, "
                   "and count them");
  command.add_flag("--no-intervals", options->no_intervals, "Do not calibrate intervals: much faster");
  add_graph_kind_options(command, options->graph);
  command.add_option("--seed", options->seed, "gnn: of weights, order and runs held out")
      ->transform(within("seed"))
      ->capture_default_str();
  add_output_folder(command, "--checkpoints", options->checkpoints,
                    "gnn: keep checkpoints there, and go on from the last of them");
  command.add_flag("--quiet,-q", options->quiet, "No progress bar");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Ctrl-C ends the fit with exit code 130: gnn with --checkpoints goes on from there when it is given "
      "again;\n"
      "otherwise the model so far is written, of the best epoch or without intervals.\n\n"
      "Examples:\n"
      "  trainyard predict fit runs.csv --output model.json\n"
      "  trainyard predict fit runs.csv --base model.json --output adapted.json --no-intervals --json");
  return [options, &command] {
    std::vector<Idle> idle = idle_options(options->graph);
    idle.push_back({!options->graph.is_graph(), {"--seed", "--checkpoints"}, "it is for --kind gnn"});
    idle.push_back({options->graph.is_graph(), {"--no-intervals"}, "--kind gnn has none"});
    warn_of_idle_options(command, idle);
    return fit(*options);
  };
}

}  // namespace trainyard::cli
