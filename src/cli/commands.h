#pragma once

#include "base/standard.h"

namespace CLI {
class App;
}

// Commands that are known by one function alone. Each declares the options, the help and the examples of a
// command, or of a command with those below it; the closure runs it and returns the exit code. main.cpp has
// the table of commands.
namespace trainyard::cli {

std::function<int()> declare_compare(CLI::App& command);

std::function<int()> declare_data(CLI::App& command);
std::function<int()> declare_data_pack(CLI::App& command);
std::function<int()> declare_data_info(CLI::App& command);

std::function<int()> declare_ensemble(CLI::App& command);
std::function<int()> declare_ensemble_run(CLI::App& command);
std::function<int()> declare_ensemble_peak(CLI::App& command);
std::function<int()> declare_ensemble_demand(CLI::App& command);
std::function<int()> declare_ensemble_tables(CLI::App& command);
std::function<int()> declare_ensemble_script(CLI::App& command);
std::function<int()> declare_ensemble_member(CLI::App& command);
std::function<int()> declare_ensemble_preprocess(CLI::App& command);

std::function<int()> declare_networks(CLI::App& command);
std::function<int()> declare_networks_export(CLI::App& command);
std::function<int()> declare_networks_import(CLI::App& command);
std::function<int()> declare_networks_features(CLI::App& command);
std::function<int()> declare_networks_stats(CLI::App& command);

std::function<int()> declare_probe(CLI::App& command);

std::function<int()> declare_report(CLI::App& command);

std::function<int()> declare_study(CLI::App& command);
std::function<int()> declare_study_plan(CLI::App& command);
std::function<int()> declare_study_run(CLI::App& command);
std::function<int()> declare_study_status(CLI::App& command);
std::function<int()> declare_study_export(CLI::App& command);
std::function<int()> declare_study_collect(CLI::App& command);
std::function<int()> declare_study_cancel(CLI::App& command);
std::function<int()> declare_study_exec(CLI::App& command);
std::function<int()> declare_study_import(CLI::App& command);
std::function<int()> declare_study_analyze(CLI::App& command);
std::function<int()> declare_study_history(CLI::App& command);

std::function<int()> declare_trace(CLI::App& command);
std::function<int()> declare_trace_summarize(CLI::App& command);
std::function<int()> declare_trace_diff(CLI::App& command);

}  // namespace trainyard::cli
