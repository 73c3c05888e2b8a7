#include "cli/train.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "cli/input_options.h"
#include "cli/run_options.h"
#include "cli/run_report.h"
#include "train/match_input.h"
#include "train/single.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kInterrupted = 130;

struct Options {
  RunOptions run;
  InputOptions input;
  std::string preprocess;
  std::int64_t steps = 0;
  double epochs = 1;
  std::filesystem::path out;
  bool resume = false, overwrite = false, no_eval = false;
  train::TrainOptions train;
};

void check(const Options& options) {
  const auto at_least = [](const char* option, std::int64_t given, std::int64_t least) {
    if (given < least) fail(ErrorKind::usage, "{} {}: must be at least {}", option, given, least);
  };
  at_least("--steps", options.steps, 0);
  at_least("--eval-every", options.train.eval_every, 0);
  at_least("--checkpoint-every", options.train.checkpoint_every, 1);
  at_least("--keep", options.train.keep, 1);
  if (!(options.epochs > 0 && options.epochs < 1e9))
    fail(ErrorKind::usage, "--epochs {}: must be positive", options.epochs);
  if (options.resume && options.overwrite)
    fail(ErrorKind::usage, "--resume and --overwrite exclude each other");
  if (options.out.empty() && (options.resume || options.overwrite))
    fail(ErrorKind::usage, "{} wants --out", options.resume ? "--resume" : "--overwrite");
}

Input load(const Options& options, const networks::NetworkInfo& network) {
  InputOptions wanted = options.input;
  if (wanted.data.name == "synthetic")
    wanted.data.synthetic = train::synthetic_for(network, options.run.classes, options.run.seed);
  Input input = load_input(wanted, options.run.quiet);
  if (options.run.classes != 0 && options.run.classes < input.dataset.classes)
    fail(ErrorKind::usage, "--classes {}: data set '{}' has {}", options.run.classes, input.dataset.name,
         input.dataset.classes);
  return input;
}

std::int64_t steps_of(const Options& options, const data::Dataset& dataset) {
  if (options.steps > 0) return options.steps;
  const double images = options.epochs * static_cast<double>(dataset.size(data::Split::train));
  return static_cast<std::int64_t>(std::ceil(images / static_cast<double>(options.run.batch)));
}

Json to_json(const std::optional<std::filesystem::path>& path) {
  return path ? Json(path->string()) : Json(nullptr);
}

Json report_of(const train::Session& session, const Options& options, const Input& input,
               const train::TrainResult& result) {
  // The first step also pays for pages and caches that no later step pays for.
  std::span<const double> seconds = result.step_seconds;
  const std::size_t warmup = seconds.size() > 1 ? 1 : 0, steps = seconds.size() - warmup;
  const double none = std::numeric_limits<double>::quiet_NaN();  // null in JSON
  if (seconds.empty()) seconds = {&none, 1};
  Json report = run_report(session, options.run, seconds.subspan(warmup), static_cast<std::int64_t>(warmup),
                           result.interrupted ? 0 : measure_peak(session.backend()));
  report["steps"] = steps;
  report["status"] = result.interrupted ? "interrupted" : "ok";
  report["data"] = options.input.data.name;
  report["seed"] = options.run.seed;
  report["final_step"] = result.final_step;
  report["first_loss"] = result.first_loss;
  report["final_loss"] = result.final_loss;
  report["test_accuracy"] = result.test_accuracy ? Json(*result.test_accuracy) : Json(nullptr);
  report["seconds"] = result.seconds;
  report["input_wait_seconds"] = result.input_wait_seconds;
  add_input_report(report, options.input, input);
  report["checkpoint"] = to_json(result.checkpoint);
  report["resumed_from"] = to_json(result.resumed_from);
  return report;
}

void print_results(const Json& report) {
  print_report(report);
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<20} {}\n", label, value);
  };
  row("trained on",
      fmt::format("{}, to step {}, in {} ({} waiting for input)", report["data"].get<std::string>(),
                  report["final_step"].get<std::int64_t>(), format_seconds(report["seconds"].get<double>()),
                  format_seconds(report["input_wait_seconds"].get<double>())));
  print_input_report(report);
  row("loss", fmt::format("{:.4f} at first, {:.4f} at last", report["first_loss"].get<double>(),
                          report["final_loss"].get<double>()));
  if (!report["test_accuracy"].is_null())
    row("test accuracy", fmt::format("{:.4f}", report["test_accuracy"].get<double>()));
  if (!report["checkpoint"].is_null()) row("checkpoint", report["checkpoint"].get<std::string>());
}

int train_network(const Options& options) {
  check(options);
  train::SessionOptions wanted = to_session(options.run);
  const networks::NetworkInfo& network = networks::find_network(options.run.network);
  const Input loaded = load(options, network);
  const data::Dataset& dataset = loaded.dataset;
  const train::MatchedInput input = train::match_input(network, dataset, options.preprocess);
  wanted.model.input = input.network;
  if (wanted.model.classes == 0) wanted.model.classes = dataset.classes;
  train::TrainOptions loop = options.train;
  loop.steps = steps_of(options, dataset);
  loop.preprocess = input.preprocess;
  loop.evaluate = !options.no_eval;
  loop.resume = options.resume;
  loop.quiet = options.run.quiet;

  train::Session session(wanted);
  if (!session.backend().executes())
    fail(ErrorKind::usage, "--backend {}: computes nothing, so cannot train", session.backend().name());
  std::unique_ptr<train::RunFolder> folder;
  if (!options.out.empty())
    folder = std::make_unique<train::RunFolder>(options.out, options.resume      ? train::Existing::resume
                                                             : options.overwrite ? train::Existing::overwrite
                                                                                 : train::Existing::refuse);
  if (loaded.staged != nullptr) loaded.staged->check_interrupt();
  const train::TrainResult result = train::run_training(session, dataset, loop, folder.get());

  const Json report = report_of(session, options, loaded, result);
  const std::string text = report.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (folder != nullptr) {
    AtomicFile file(folder->record_path());
    file.write(text + "\n");
    file.commit();
  }
  if (options.run.json)
    fmt::print("{}\n", text);
  else
    print_results(report);
  if (!result.interrupted) return 0;
  fmt::print(stderr, "trainyard: interrupted at step {}; {}\n", result.final_step,
             folder == nullptr ? std::string("nothing was saved: no --out was given")
                               : fmt::format("saved in '{}', the same command with --resume goes on",
                                             result.checkpoint ? result.checkpoint->string() : "-"));
  return kInterrupted;
}

}  // namespace

std::function<int()> declare_train(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  train::TrainOptions& loop = options->train;
  add_run_options(command, options->run);
  add_input_options(command, options->input);
  command.add_option("--preprocess", options->preprocess,
                     "unit, standardise, lenet, cifarnet, cifar-pad or cifar-flip (default: the network's)");
  auto* steps = command.add_option("--steps,-s", options->steps, "Steps, counted from the very first");
  command.add_option("--epochs,-e", options->epochs, "Passes over the training images")
      ->capture_default_str()
      ->excludes(steps);
  command.add_option("--eval-every", loop.eval_every, "Steps between evaluations (default: only at the end)");
  command.add_flag("--no-eval", options->no_eval, "No evaluation on the test images");
  command.add_option("--out,-o", options->out, "Folder for checkpoints, TensorBoard events and record.json")
      ->type_name("DIR");
  command.add_option("--checkpoint-every", loop.checkpoint_every, "Steps between checkpoints")
      ->capture_default_str();
  command.add_option("--keep", loop.keep, "Newest checkpoints that stay")->capture_default_str();
  command.add_flag("--resume", options->resume, "Go on from the newest checkpoint in --out");
  command.add_flag("--overwrite", options->overwrite, "Remove the run that is in --out first");
  command.footer(
      "step_seconds leave out the first step; first_loss is that of step 0, before any update; final_loss "
      "is\n"
      "the mean of the last 10 steps. Ctrl-C ends after the current step with a checkpoint and exit code "
      "130.\n\n"
      "Examples:\n"
      "  trainyard train --network lenet --data synthetic --batch 32 --steps 30\n"
      "  trainyard train --network lenet --batch 32 --steps 20 --out runs/lenet --overwrite "
      "--json");
  return [options] { return train_network(*options); };
}

}  // namespace trainyard::cli
