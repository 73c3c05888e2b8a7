#include "cli/train_options.h"

#include "base/error.h"

namespace trainyard::cli {

void add_train_options(CLI::App& command, TrainCommand& options) {
  train::TrainOptions& loop = options.train;
  add_run_options(command, options.run);
  add_deployment_options(command, options.deployment);
  add_workers_options(command, options.workers);
  add_ps_options(command, options.ps);
  add_input_options(command, options.input);
  add_trace_options(command, options.trace);
  command.add_option("--preprocess", options.preprocess,
                     "unit, standardise, lenet, cifarnet, cifar-pad or cifar-flip (default: the network's)");
  command
      .add_option(
          "--feed", options.feed,
          "Who makes the batches of a GPU: device, of images in its memory; host, which sends them ahead "
          "of the steps; auto: device, where the images are in memory and fit into its own")
      ->capture_default_str();
  auto* steps = command.add_option("--steps,-s", options.steps, "Steps, counted from the very first");
  command.add_option("--epochs,-e", options.epochs, "Passes over the training images")
      ->capture_default_str()
      ->excludes(steps);
  command.add_option("--eval-every", loop.eval_every, "Steps between evaluations (default: only at the end)");
  command.add_flag("--no-eval", options.no_eval, "No evaluation on the test images");
  command.add_option("--out,-o", options.out, "Folder for checkpoints, TensorBoard events and record.json")
      ->type_name("DIR");
  command.add_option("--checkpoint-every", loop.checkpoint_every, "Steps between checkpoints")
      ->capture_default_str();
  command.add_option("--keep", loop.keep, "Newest checkpoints that stay")->capture_default_str();
  command.add_flag("--resume", options.resume, "Go on from the newest checkpoint in --out");
  command.add_flag("--overwrite", options.overwrite, "Remove the run that is in --out first");
}

void check(const TrainCommand& options) {
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
  if (const auto inputs = options.run.parameters.find("inputs"); inputs != options.run.parameters.end())
    fail(ErrorKind::usage, "--inputs {}: a network that is trained takes what the data set has",
         inputs->second);
  if (!(options.epochs > 0 && options.epochs < 1e9))
    fail(ErrorKind::usage, "--epochs {}: must be positive", options.epochs);
  check(options.trace, options.deployment);
  if (options.resume && options.overwrite)
    fail(ErrorKind::usage, "--resume and --overwrite exclude each other");
  if (options.out.empty() && (options.resume || options.overwrite))
    fail(ErrorKind::usage, "{} wants --out", options.resume ? "--resume" : "--overwrite");
}

}  // namespace trainyard::cli
