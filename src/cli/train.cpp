#include "cli/train.h"

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/deployment_options.h"
#include "cli/failure_record.h"
#include "cli/input_options.h"
#include "cli/run_options.h"
#include "cli/run_report.h"
#include "train/independent.h"
#include "train/match_input.h"
#include "train/stop_request.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kInterrupted = 130;

struct Options {
  RunOptions run;
  DeploymentOptions deployment;
  InputOptions input;
  std::string preprocess, feed = "auto";
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
  want_one_of("--feed", options.feed, train::feed_names());
  if (options.feed == "device" && options.run.device == "cpu")
    fail(ErrorKind::usage, "--feed device: wants a GPU, --device cuda");
  if (options.run.inputs != 0)
    fail(ErrorKind::usage, "--inputs {}: a network that is trained takes what the data set has",
         options.run.inputs);
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

std::string text_of(const std::optional<std::filesystem::path>& path) { return path ? path->string() : ""; }

record::RunRecord record_of(const RunStart& start, const Options& options, const Input& input,
                            const train::Deployment& deployment, const train::TrainResult& result) {
  // The first step also pays for pages and caches that no later step pays for.
  const std::span<const double> seconds = result.step_seconds;
  const std::size_t warmup = seconds.size() > 1 ? 1 : 0;
  const train::RunFacts& facts = result.facts;
  record::RunRecord run = make_record(
      "train", start, options.run, deployment, facts,
      {.warmup_seconds = seconds.first(warmup),
       .step_seconds = seconds.subspan(warmup),
       .images_consumed = result.images_consumed,
       .counted_steps = static_cast<std::int64_t>(seconds.size()),
       .cpu = result.cpu,
       .noise = result.noise,
       .cores_in_reach = result.cores_in_reach,
       .peak_flops_per_second = result.interrupted ? 0 : measure_peak(to_session(options.run), facts.threads),
       .event_seconds = result.event_seconds,
       .wall_seconds = std::accumulate(seconds.begin(), seconds.end(), 0.0),
       .feed = train::name(result.feed),
       .input_wait_seconds = result.input_wait_seconds,
       .gpu = result.gpu});
  if (result.interrupted) {
    run.status = record::Status::interrupted;
    run.reason = fmt::format("interrupted at step {}", result.final_step);
  }
  add_input(run, options.input, input);
  const double none = std::numeric_limits<double>::quiet_NaN();
  run.asked["steps"] = result.final_step;
  if (options.feed != "auto") run.asked["feed"] = options.feed;
  run.figures["seed"] = static_cast<double>(options.run.seed);
  run.figures["final_step"] = static_cast<double>(result.final_step);
  run.figures["first_loss"] = result.first_loss;
  run.figures["final_loss"] = result.final_loss;
  run.figures["test_accuracy"] = result.test_accuracy.value_or(none);
  run.figures["seconds"] = result.seconds;
  run.words["checkpoint"] = text_of(result.checkpoint);
  run.words["resumed_from"] = text_of(result.resumed_from);
  return run;
}

void print_results(const record::RunRecord& run) {
  print_report(run);
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<20} {}\n", label, value);
  };
  const auto figure = [&](const char* name) { return run.figure_or(name, 0); };
  row("trained on", fmt::format("{}, to step {:.0f}, in {} ({} waiting for input)", run.words.at("data"),
                                figure("final_step"), format_seconds(figure("seconds")),
                                format_seconds(figure("input_wait_seconds"))));
  print_input(run);
  row("loss", fmt::format("{:.4f} at first, {:.4f} at last", figure("first_loss"), figure("final_loss")));
  if (std::isfinite(figure("test_accuracy")))
    row("test accuracy", fmt::format("{:.4f}", figure("test_accuracy")));
  if (const std::string& checkpoint = run.words.at("checkpoint"); !checkpoint.empty())
    row("checkpoint", checkpoint);
}

// What each of several independent devices came to.
Json to_json(const train::TrainResult& result, std::uint64_t seed) {
  return {{"seed", seed},
          {"first_loss", result.first_loss},
          {"final_loss", result.final_loss},
          {"test_accuracy", result.test_accuracy ? Json(*result.test_accuracy) : Json(nullptr)},
          {"final_step", result.final_step},
          {"checkpoint", result.checkpoint ? Json(result.checkpoint->string()) : Json(nullptr)},
          {"resumed_from", result.resumed_from ? Json(result.resumed_from->string()) : Json(nullptr)}};
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
  const RunStart start;
  check(options);
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  train::SessionOptions wanted = to_session(options.run);
  wanted.model.batch = deployment.batch_per_device(options.run.batch);
  if (!backend::make_backend(wanted.backend)->executes())
    fail(ErrorKind::usage, "--backend {}: computes nothing, so cannot train", wanted.backend);
  const networks::NetworkInfo& network = networks::find_network(options.run.network);
  const Input loaded = load(options, network);
  const data::Dataset& dataset = loaded.dataset;
  const train::MatchedInput input = train::match_input(network, dataset, options.preprocess);
  wanted.model.input = input.network;
  if (wanted.model.classes == 0) wanted.model.classes = dataset.classes;
  train::TrainOptions loop = options.train;
  loop.steps = steps_of(options, dataset, deployment);
  loop.preprocess = input.preprocess;
  loop.feed = *train::find_feed(options.feed);
  loop.evaluate = !options.no_eval;
  loop.resume = options.resume;
  loop.quiet = options.run.quiet;

  const bool alone = deployment.strategy == train::Strategy::independent;
  std::vector<train::TrainResult> results;
  const auto folders = open_folders(options, deployment);
  const train::StopRequest guard;  // from here on signals are its, and those that came before are seen now
  if (loaded.staged != nullptr) loaded.staged->check_interrupt();
  if (alone) {
    results = train::run_independent(wanted, deployment, dataset, loop, folders);
  } else {
    train::Replicas replicas(wanted, deployment);
    results.push_back(
        train::run_training(replicas, dataset, loop, folders.empty() ? nullptr : folders.front().get()));
  }
  const train::TrainResult result = train::combine(results);
  record::RunRecord run = record_of(start, options, loaded, deployment, result);
  if (alone) {
    Json devices = Json::array();
    for (int device = 0; device < deployment.devices; ++device)
      devices.push_back(
          to_json(results[static_cast<std::size_t>(device)], train::device_seed(options.run.seed, device)));
    run.details["replicas"] = devices.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  if (!options.out.empty()) record::write_run_record(run, options.out / train::RunFolder::kRecord);
  keep_record(run, options.run);
  if (options.run.json)
    fmt::print("{}\n", to_json(run));
  else
    print_results(run);
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
  add_input_options(command, options->input);
  command.add_option("--preprocess", options->preprocess,
                     "unit, standardise, lenet, cifarnet, cifar-pad or cifar-flip (default: the network's)");
  command
      .add_option(
          "--feed", options->feed,
          "Who makes the batches of a GPU: device, of images in its memory; host, which sends them ahead "
          "of the steps; auto: device, where the images are in memory and fit into its own")
      ->capture_default_str();
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
  return [options] {
    return recording_failure("train", options->run, options->deployment,
                             [&] { return train_network(*options); });
  };
}

}  // namespace trainyard::cli
