#include "cli/ensemble.h"

#include <map>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/ensemble_commands.h"

namespace trainyard::cli {
namespace {

struct EnsembleRow {
  const char *name, *summary;
  std::function<int()> (*declare)(CLI::App&);
  bool started_by_us = false;
};

constexpr EnsembleRow kEnsembleCommands[] = {
    {"run", "Train all members from one stream of samples, and let them vote", declare_ensemble_run},
    {"peak", "How many images a second members get, by design and their number", declare_ensemble_peak},
    {"demand", "How many images a second networks take, and one preprocessor gives", declare_ensemble_demand},
    {"tables", "CPU that sharing saves, speed-up by cores, and the tables of the SC'18 scripts",
     declare_ensemble_tables},
    {"script", "A job script for Slurm or PBS", declare_ensemble_script},
    {"member", "One of the processes that `run` starts", declare_ensemble_member, true},
    {"preprocess", "The process that makes samples for members of one machine", declare_ensemble_preprocess,
     true},
};

}  // namespace

std::function<int()> declare_ensemble(CLI::App& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const CLI::App*, std::function<int()>>>();
  for (const EnsembleRow& row : kEnsembleCommands) {
    CLI::App* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
    if (row.started_by_us) below->group("");  // not listed
  }
  command.footer(
      "An ensemble is many networks that are trained from one stream of preprocessed samples; a YAML file "
      "names\n"
      "them (docs/formats/ensemble.md).\n\n"
      "Examples:\n"
      "  trainyard data pack synthetic --to photos --images 200 --classes 5\n"
      "  trainyard ensemble run studies/ensemble-photos.yaml");
  return [runs, &command] { return runs->at(command.get_subcommands().front())(); };
}

}  // namespace trainyard::cli
