#include "cli/trace.h"

#include <map>
#include <memory>

#include "cli/trace_commands.h"

namespace trainyard::cli {
namespace {

struct TraceCommand {
  const char *name, *summary;
  std::function<int()> (*declare)(CLI::App&);
};

constexpr TraceCommand kTraceCommands[] = {
    {"summarize", "Time by category and op, causes of idle time, share of the infeed",
     declare_trace_summarize},
    {"diff", "What a step takes in one trace and in another, by category and op", declare_trace_diff},
};

}  // namespace

std::function<int()> declare_trace(CLI::App& command) {
  command.require_subcommand(1);
  const auto runs = std::make_shared<std::map<const CLI::App*, std::function<int()>>>();
  for (const TraceCommand& row : kTraceCommands) {
    CLI::App* below = command.add_subcommand(row.name, row.summary);
    (*runs)[below] = row.declare(*below);
  }
  command.footer(
      "`bench --trace FILE` and `train --trace FILE` write traces (docs/formats/trace.md); those of "
      "PyTorch's "
      "profiler\n"
      "are read, too.\n\n"
      "Examples:\n"
      "  trainyard trace summarize traces/lenet.json\n"
      "  trainyard trace summarize traces/lenet.json --json");
  return [runs, &command] { return runs->at(command.get_subcommands().front())(); };
}

}  // namespace trainyard::cli
