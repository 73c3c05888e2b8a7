#include "cli/study.h"

#include <map>
#include <memory>

#include "cli/study_commands.h"

namespace trainyard::cli {
namespace {

struct StudyCommand {
  const char *name, *summary;
  std::function<int()> (*declare)(CLI::App&);
};

constexpr StudyCommand kStudyCommands[] = {
    {"plan", "Print a study's cells and what they may cost; run nothing", declare_study_plan},
    {"run", "Run what a study expects and is not done yet", declare_study_run},
    {"status", "Expected, done, failed and missing runs of a study", declare_study_status},
    {"export", "Print a study's runs as CSV or JSON lines", declare_study_export},
    {"collect", "Take in what a study's runs on a cluster left", declare_study_collect},
    {"cancel", "Take a study's unfinished runs out of the cluster's queue", declare_study_cancel},
    {"exec", "One run on a node: what a cluster's job calls", declare_study_exec},
    {"import", "Take in what others published: PSC's outputs, ParaDnn's sweeps and traces",
     declare_study_import},
    {"history", "A study over builds and dates: where its figures changed", declare_study_history},
    {"analyze", "What limits the points of a study, and how two systems compare", declare_study_analyze},
};

}  // namespace

std::function<int()> declare_study(CLI::App& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const CLI::App*, std::function<int()>>>();
  for (const StudyCommand& row : kStudyCommands) {
    CLI::App* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
  }
  command.footer(
      "A study is a matrix of runs in a YAML file (docs/formats/study.md). Its folder keeps every run there "
      "ever\n"
      "was; a study that was killed goes on where it stopped.\n\n"
      "Examples:\n"
      "  trainyard study plan studies/batch-sweep.yaml\n"
      "  trainyard study run studies/smoke.yaml");
  return [runs, &command] { return runs->at(command.get_subcommands().front())(); };
}

}  // namespace trainyard::cli
