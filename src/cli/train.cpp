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
#include "cli/deployment_options.h"
#include "cli/run_options.h"
#include "cli/run_report.h"
#include "train/independent.h"
#include "train/match_input.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kInterrupted = 130;

struct Options {
  RunOptions run;
  DeploymentOptions deployment;
  data::DatasetOptions data{.name = "synthetic"};
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

data::Dataset load(const Options& options, const networks::NetworkInfo& network) {
  data::DatasetOptions wanted = options.data;
  if (wanted.name == "synthetic")
    wanted.synthetic = train::synthetic_for(network, options.run.classes, options.run.seed);
  data::Dataset dataset = data::load_dataset(wanted);
  if (options.run.classes != 0 && options.run.classes < dataset.classes)
    fail(ErrorKind::usage, "--classes {}: data set '{}' has {}", options.run.classes, dataset.name,
         dataset.classes);
  return dataset;
}

// Independent devices go through the images each for itself.
std::int64_t steps_of(const Options& options, const data::Dataset& dataset,
                      const train::Deployment& deployment) {
  if (options.steps > 0) return options.steps;
  const double images = options.epochs * static_cast<double>(dataset.size(data::Split::train));
  const std::int64_t batch = deployment.strategy == train::Strategy::independent
                                 ? deployment.batch_per_device(options.run.batch)
                                 : deployment.global_batch(options.run.batch);
  return static_cast<std::int64_t>(std::ceil(images / static_cast<double>(batch)));
}

Json to_json(const std::optional<std::filesystem::path>& path) {
  return path ? Json(path->string()) : Json(nullptr);
}

Json report_of(const Options& options, const train::Deployment& deployment,
               const train::TrainResult& result) {
  // The first step also pays for pages and caches that no later step pays for.
  std::span<const double> seconds = result.step_seconds;
  const std::size_t warmup = seconds.size() > 1 ? 1 : 0, steps = seconds.size() - warmup;
  const double none = std::numeric_limits<double>::quiet_NaN();  // null in JSON
  if (seconds.empty()) seconds = {&none, 1};
  const train::RunFacts& facts = result.facts;
  Json report = run_report(facts, options.run, seconds.subspan(warmup), static_cast<std::int64_t>(warmup),
                           result.interrupted ? 0 : measure_peak(facts.backend, facts.threads));
  report["steps"] = steps;
  add_deployment(report, deployment,
                 {result.images_consumed, static_cast<std::int64_t>(result.step_seconds.size()), result.cpu,
                  result.cores_in_reach});
  report["status"] = result.interrupted ? "interrupted" : "ok";
  report["data"] = options.data.name;
  report["seed"] = options.run.seed;
  report["final_step"] = result.final_step;
  report["first_loss"] = result.first_loss;
  report["final_loss"] = result.final_loss;
  report["test_accuracy"] = result.test_accuracy ? Json(*result.test_accuracy) : Json(nullptr);
  report["seconds"] = result.seconds;
  report["input_wait_seconds"] = result.input_wait_seconds;
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
  row("loss", fmt::format("{:.4f} at first, {:.4f} at last", report["first_loss"].get<double>(),
                          report["final_loss"].get<double>()));
  if (!report["test_accuracy"].is_null())
    row("test accuracy", fmt::format("{:.4f}", report["test_accuracy"].get<double>()));
  if (!report["checkpoint"].is_null()) row("checkpoint", report["checkpoint"].get<std::string>());
}

// What each of several independent devices came to.
Json to_json(const train::TrainResult& result, std::uint64_t seed) {
  return {{"seed", seed},
          {"first_loss", result.first_loss},
          {"final_loss", result.final_loss},
          {"test_accuracy", result.test_accuracy ? Json(*result.test_accuracy) : Json(nullptr)},
          {"final_step", result.final_step},
          {"checkpoint", to_json(result.checkpoint)},
          {"resumed_from", to_json(result.resumed_from)}};
}

// One for the run, or one for each independent device; none without --out.
std::vector<std::unique_ptr<train::RunFolder>> open_folders(const Options& options,
                                                            const train::Deployment& deployment) {
  const train::Existing existing = options.resume      ? train::Existing::resume
                                   : options.overwrite ? train::Existing::overwrite
                                                       : train::Existing::refuse;
  if (options.out.empty()) return {};
  if (deployment.strategy == train::Strategy::independent)
    return train::open_device_folders(options.out, existing, deployment.devices);
  std::vector<std::unique_ptr<train::RunFolder>> folders;
  folders.push_back(std::make_unique<train::RunFolder>(options.out, existing));
  return folders;
}

int train_network(const Options& options) {
  check(options);
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  train::SessionOptions wanted = to_session(options.run);
  wanted.model.batch = deployment.batch_per_device(options.run.batch);
  if (!backend::make_backend(wanted.backend)->executes())
    fail(ErrorKind::usage, "--backend {}: computes nothing, so cannot train", wanted.backend);
  const networks::NetworkInfo& network = networks::find_network(options.run.network);
  const data::Dataset dataset = load(options, network);
  const train::MatchedInput input = train::match_input(network, dataset, options.preprocess);
  wanted.model.input = input.network;
  if (wanted.model.classes == 0) wanted.model.classes = dataset.classes;
  train::TrainOptions loop = options.train;
  loop.steps = steps_of(options, dataset, deployment);
  loop.preprocess = input.preprocess;
  loop.evaluate = !options.no_eval;
  loop.resume = options.resume;
  loop.quiet = options.run.quiet;

  const bool alone = deployment.strategy == train::Strategy::independent;
  std::vector<train::TrainResult> results;
  const auto folders = open_folders(options, deployment);
  if (alone) {
    results = train::run_independent(wanted, deployment, dataset, loop, folders);
  } else {
    train::Replicas replicas(wanted, deployment);
    results.push_back(
        train::run_training(replicas, dataset, loop, folders.empty() ? nullptr : folders.front().get()));
  }
  const train::TrainResult result = train::combine(results);
  Json report = report_of(options, deployment, result);
  if (alone)
    for (int device = 0; device < deployment.devices; ++device)
      report["replicas"].push_back(
          to_json(results[static_cast<std::size_t>(device)], train::device_seed(options.run.seed, device)));
  const std::string text = report.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!options.out.empty()) {
    AtomicFile file(options.out / train::RunFolder::kRecord);
    file.write(text + "\n");
    file.commit();
  }
  if (options.run.json)
    fmt::print("{}\n", text);
  else
    print_results(report);
  if (!result.interrupted) return 0;
  fmt::print(stderr, "trainyard: interrupted at step {}; {}\n", result.final_step,
             folders.empty() ? std::string("nothing was saved: no --out was given")
                             : fmt::format("saved in '{}', the same command with --resume goes on",
                                           result.checkpoint ? result.checkpoint->string() : "-"));
  return kInterrupted;
}

}  // namespace

std::function<int()> declare_train(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  train::TrainOptions& loop = options->train;
  add_run_options(command, options->run);
  add_deployment_options(command, options->deployment);
  command.add_option("--data", options->data.name, "mnist, cifar10, or synthetic: made for the network")
      ->capture_default_str();
  command.add_option("--from", options->data.folder, "Folder with the data set's files (default: the cache)")
      ->type_name("DIR");
  command.add_option("--cache", options->data.cache, "Cache folder (default: ~/.cache/trainyard)")
      ->type_name("DIR");
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
