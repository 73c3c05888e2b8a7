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
  add_deployment_options(command, "train", options.deployment);
  add_workers_options(command, options.workers);
  add_ps_options(command, options.ps);
  add_input_options(command, options.input);
  add_trace_options(command, options.trace);
  const auto add = [&](const char* name, auto& value) { return add_setting(command, "train", name, value); };
  add("preprocess", options.preprocess);
  add("feed", options.feed);
  CLI::Option* steps = add("steps", options.steps);
  add("epochs", options.epochs)->excludes(steps);
  add("eval_every", loop.eval_every);
  add("no_eval", options.no_eval);
  const record::SettingInfo& out = record::setting_of("out", "train");
  add_output_folder(command, option_names(out), options.out, help_of(out));
  add("checkpoint_every", loop.checkpoint_every);
  add("keep", loop.keep);
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
  const bool named = options.input.data.name.find(':') != std::string::npos;
  rules.push_back({named, {"--from", "--cache"}, "--data names the path"});
  rules.push_back({!synthetic && !named && !options.input.data.folder.empty(),
                   {"--cache"},
                   "--from says where the files are"});
  return rules;
}

void add_trace_options(CLI::App& command, run::TraceOptions& options) {
  const record::SettingInfo& trace = record::setting_of("trace", "train");
  CLI::Option* file = add_output_file(command, option_names(trace), options.file, help_of(trace));
  add_setting(command, "train", "trace_steps", options.steps)->needs(file);
}

}  // namespace trainyard::cli
