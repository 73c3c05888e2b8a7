#include "cli/ensemble_options.h"

#include "cli/option_checks.h"
#include "cli/outputs.h"

namespace trainyard::cli {

void add_ensemble_options(CLI::App& command, ensemble::EnsembleOptions& options) {
  const auto add = [&](const char* name, auto& value) { add_setting(command, "ensemble", name, value); };
  add_setting(command, "ensemble", "ensemble", options.file, "file,")->required();
  add("design", options.design);
  add("members", options.members);
  add("preprocessors", options.preprocessors);
  add("threads", options.threads);
  add("steps", options.steps);
  add("epochs", options.epochs);
  add("rate", options.rate);
  add("seconds", options.seconds);
  add("cores", options.cores);
  add("idle_seconds", options.idle_seconds);
  add("patience", options.patience);
  add("lost", options.lost);
  const record::SettingInfo& out = record::setting_of("out", "ensemble");
  add_output_folder(command, option_names(out), options.out, help_of(out));
  add("hosts", options.hosts);
  add("remote_shell", options.remote_shell);
  add_resume_option(command, options.resume, "the checkpoints in --out");
  command.add_flag("--overwrite", options.overwrite, "Begin anew where --out holds a run already");
  add("no_eval", options.no_eval);
  add_output_file(command, "--record", options.record, "File for the record, as --json prints it");
  command.add_flag("--json", options.json, "One JSON object on standard output");
  command.add_flag("--quiet,-q", options.quiet, "No progress");
}

void add_ensemble_part(CLI::App& command, ensemble::EnsemblePart& part) {
  command.add_option("--member", part.member, "Its number, where it reads in place")
      ->transform(within(record::NumberRange::whole(0, 1'000)));
  command.add_option("--stream", part.stream, "Where it reads the samples");
  command.add_option("--first-position", part.first_position, "Where a preprocessor begins")
      ->transform(within(record::NumberRange::whole(0)));
  command.add_option("--announce", part.announce, "File for a preprocessor's address");
  command.add_option("--left-out", part.left_out, "Numbers of members that take no part")
      ->transform(within(record::NumberRange::whole(0, 1'000)))
      ->delimiter(',');
  command.add_option("--results", part.results, "Folder for what each process leaves");
}

}  // namespace trainyard::cli
