#include "cli/predict.h"

#include <map>
#include <memory>

#include "cli/predict_commands.h"

namespace trainyard::cli {
namespace {

struct PredictCommand {
  const char *name, *summary;
  std::function<int()> (*declare)(CLI::App&);
};

constexpr PredictCommand kPredictCommands[] = {
    {"fit", "Learn time and memory of training runs from a table or from records", declare_predict_fit},
    {"eval", "Say how well runs are predicted, by a model or by what is held out", declare_predict_eval},
    {"run", "Predict time, memory and whether it fits, of one training run", declare_predict_run},
};

}  // namespace

std::function<int()> declare_predict(CLI::App& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const CLI::App*, std::function<int()>>>();
  for (const PredictCommand& row : kPredictCommands) {
    CLI::App* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
  }
  command.footer(
      "Networks are those of `trainyard networks`; devices those that a model has seen, known data sheets, "
      "or "
      "a\nfile's (docs/formats/cluster.md).\n\n"
      "Examples:\n"
      "  trainyard predict fit runs.csv --output model.json\n"
      "  trainyard predict eval --runs runs.csv --model model.json");
  return [runs, &command] { return runs->at(command.get_subcommands().front())(); };
}

}  // namespace trainyard::cli
