#include "cli/ensemble_options.h"

#include "cli/option_checks.h"
#include "cli/outputs.h"

namespace trainyard::cli {

void add_ensemble_options(CLI::App& command, ensemble::EnsembleOptions& options) {
  command.add_option("file,--file", options.file, "YAML file of the ensemble (docs/formats/ensemble.md)")
      ->required()
      ->type_name("FILE");
  command.add_option("--design", options.design,
                     "How samples are shared: baseline, all-shared, single-broadcast, multi-broadcast, "
                     "multi-broadcast-asbuilt or shared-memory");
  command.add_option("--members", options.members, "So many members: the file's, again and again")
      ->transform(within("members"));
  command.add_option("--preprocessors", options.preprocessors, "Members that preprocess")
      ->transform(within("preprocessors"));
  command.add_option("--threads", options.threads, "Threads of each that preprocesses")
      ->transform(within("threads"));
  command.add_option("--steps", options.steps, "Steps of each member")->transform(within("steps"));
  command.add_option("--epochs", options.epochs, "Epochs of each member")->transform(within("epochs"));
  command
      .add_option("--rate", options.rate,
                  "Members train nothing, and take so many images a second as a device would; 0: as fast as "
                  "they come")
      ->transform(within("rate"));
  command.add_option("--seconds", options.seconds, "With --rate: end after so many seconds")
      ->transform(within("seconds"));
  command.add_option("--cores", options.cores, "Cores that all processes together may use")
      ->transform(within("cores"));
  command
      .add_option("--idle-seconds", options.idle_seconds,
                  "First let the machine idle so long, to know its power without the run")
      ->transform(within("idle_seconds"));
  command.add_option("--patience", options.patience, "Seconds to wait for a member or a preprocessor")
      ->transform(within("patience"));
  command.add_option("--lost", options.lost, "When a member is lost: wait, drop or abort");
  add_output_folder(command, "--out", options.out,
                    "Folder for checkpoints, logs and records; a folder a member");
  command
      .add_option(
          "--hosts", options.hosts,
          "Machines of the members: a file with a line each, NAME [workers=N], or the word slurm: the "
          "nodes of this allocation; wants --out, a folder that all see")
      ->type_name("FILE");
  command.add_option("--remote-shell", options.remote_shell,
                     "What starts a program on a machine of --hosts (default: as mpirun does)");
  add_resume_option(command, options.resume, "the checkpoints in --out");
  command.add_flag("--overwrite", options.overwrite, "Begin anew where --out holds a run already");
  command.add_flag("--no-eval", options.no_eval, "No vote on the test images");
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
