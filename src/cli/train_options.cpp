#include "cli/train_options.h"

#include "cli/option_checks.h"
#include "cli/outputs.h"

namespace trainyard::cli {

void add_resume_option(CLI::App& command, run::ResumeOption& resume, const std::string& from) {
  // A flag, so that it never takes the word behind it; `--resume` alone is "true".
  command
      .add_flag("--resume", resume.value,
                "Go on from " + from + "; --resume=auto: or begin, where there is none yet")
      ->check([](const std::string& given) {
        const bool known = given == "true" || given == "auto";
        return known ? std::string() : "'" + given + "' given, nothing or =auto expected";
      });
}

void add_train_options(CLI::App& command, run::TrainCommand& options) {
  train::TrainOptions& loop = options.train;
  add_run_options(command, options.run);
  add_output_options(command, options.run);
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
  auto* steps = command.add_option("--steps,-s", options.steps, "Steps, counted from the very first")
                    ->transform(within("steps"));
  command.add_option("--epochs,-e", options.epochs, "Passes over the training images")
      ->transform(within("epochs"))
      ->capture_default_str()
      ->excludes(steps);
  command.add_option("--eval-every", loop.eval_every, "Steps between evaluations (default: only at the end)")
      ->transform(within("eval_every"));
  command.add_flag("--no-eval", options.no_eval, "No evaluation on the test images");
  add_output_folder(command, "--out,-o", options.out,
                    "Folder for checkpoints, TensorBoard events and record.json");
  command.add_option("--checkpoint-every", loop.checkpoint_every, "Steps between checkpoints")
      ->transform(within("checkpoint_every"))
      ->capture_default_str();
  command.add_option("--keep", loop.keep, "Newest checkpoints that stay")
      ->transform(within("keep"))
      ->capture_default_str();
  add_resume_option(command, options.resume, "the newest checkpoint in --out");
  command.add_flag("--overwrite", options.overwrite, "Remove the run that is in --out first");
}

std::vector<Idle> idle_options(const run::TrainCommand& options) {
  std::vector<Idle> rules = idle_options(options.run);
  const bool synthetic = options.input.data.name == "synthetic";
  rules.push_back({!with_servers(options.workers),
                   {"--servers", "--wire", "--wire-layout", "--transport", "--min-workers", "--restarts",
                    "--lease", "--patience", "--address"},
                   "there are no parameter servers; --workers N --mode MODE has them"});
  rules.push_back({options.ps.hosts.empty(), {"--remote-shell"}, "all processes are here, without --hosts"});
  rules.push_back({options.deployment.devices == 1, {"--scaling"}, "there is one device"});
  rules.push_back({options.out.empty(), {"--checkpoint-every", "--keep"}, "nothing is saved without --out"});
  rules.push_back({options.no_eval, {"--eval-every"}, "--no-eval evaluates nothing"});
  rules.push_back({synthetic, {"--from", "--cache"}, "--data synthetic has no files"});
  rules.push_back(
      {!synthetic && !options.input.data.folder.empty(), {"--cache"}, "--from says where the files are"});
  return rules;
}

void add_trace_options(CLI::App& command, run::TraceOptions& options) {
  auto* file = add_output_file(
      command, "--trace", options.file,
      "Trace some steps into a file that Perfetto and chrome://tracing open; `trace summarize` reads it");
  command
      .add_option("--trace-steps", options.steps,
                  "Which: so many, or those from FIRST to LAST, counted from 0")
      ->type_name("COUNT|FIRST..LAST")
      ->capture_default_str()
      ->needs(file);
}

}  // namespace trainyard::cli
