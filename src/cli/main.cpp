#include <cstdio>
#include <functional>
#include <map>
#include <new>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/nearest_name.h"
#include "cli/bench.h"
#include "cli/compare.h"
#include "cli/data.h"
#include "cli/exit_code.h"
#include "cli/explain.h"
#include "cli/networks.h"
#include "cli/probe.h"
#include "cli/report.h"
#include "cli/serve_params.h"
#include "cli/study.h"
#include "cli/trace.h"
#include "cli/train.h"
#include "cli/worker.h"

namespace trainyard::cli {
namespace {

struct Row {
  const char *name, *summary;
  std::function<int()> (*declare)(CLI::App&);
};

const Row kCommands[] = {
    {"networks", "List the networks, with their sizes and costs", declare_networks},
    {"data", "Get and list data sets", declare_data},
    {"train", "Train a network, with checkpoints and evaluation", declare_train},
    {"worker", "One of the processes that `train --workers` starts", declare_worker},
    {"serve-params", "Be one parameter server of a training", declare_serve_params},
    {"bench", "Time training steps", declare_bench},
    {"explain", "Show the plan of a training step: kernels, layouts, memory, flops", declare_explain},
    {"probe", "Measure this machine's peaks", declare_probe},
    {"study", "Run a matrix of runs, here or on a cluster", declare_study},
    {"trace", "Say where the time of traced steps went", declare_trace},
    {"compare", "Say whether runs are as fast as others: SAME, FASTER, SLOWER or UNCLEAR", declare_compare},
    {"report", "Write a study's results as one HTML file", declare_report},
};

int report(const char* message, int code) {
  fmt::print(stderr, "trainyard: {}\n", message);
  return code;
}

int run(int argc, char** argv) {
  CLI::App app("Trainyard: a laboratory for the performance of DNN training", "trainyard");
  app.require_subcommand(1);
  app.set_version_flag("--version", "trainyard " TRAINYARD_VERSION);
  std::map<const CLI::App*, std::function<int()>> runs;
  std::vector<std::string> names;
  for (const Row& row : kCommands) {
    CLI::App* command = app.add_subcommand(row.name, row.summary);
    runs[command] = row.declare(*command);
    names.emplace_back(row.name);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const bool unknown = argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty();
    const std::string hint = unknown ? did_you_mean(argv[1], names) : "";
    return report(fmt::format("{}{}; see trainyard --help", error.what(), hint).c_str(), kCallerCanMendIt);
  }
  return runs.at(app.get_subcommands().front())();
}

}  // namespace
}  // namespace trainyard::cli

int main(int argc, char** argv) {
  using trainyard::cli::kRunFailed;
  using trainyard::cli::report;
  try {
    return trainyard::cli::run(argc, argv);
  } catch (const trainyard::Error& error) {
    return report(error.what(), trainyard::cli::exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report("out of memory", kRunFailed);
  } catch (const std::exception& error) {
    return report(error.what(), kRunFailed);
  }
}
