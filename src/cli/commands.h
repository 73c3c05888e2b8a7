#pragma once

#include "cli/command.h"

// Commands that are known by one function alone. Each declares the options, the help and the examples of a
// command, or of a command with those below it; the closure runs it and returns the exit code. main.cpp has
// the table of commands.
namespace trainyard::cli {

std::function<int()> declare_compare(Command& command);

std::function<int()> declare_data(Command& command);
std::function<int()> declare_data_pack(Command& command);
std::function<int()> declare_data_pack_text(Command& command);
std::function<int()> declare_data_info(Command& command);

std::function<int()> declare_ensemble(Command& command);
std::function<int()> declare_ensemble_run(Command& command);
std::function<int()> declare_ensemble_peak(Command& command);
std::function<int()> declare_ensemble_demand(Command& command);
std::function<int()> declare_ensemble_tables(Command& command);
std::function<int()> declare_ensemble_script(Command& command);
std::function<int()> declare_ensemble_member(Command& command);
std::function<int()> declare_ensemble_preprocess(Command& command);

std::function<int()> declare_networks(Command& command);
std::function<int()> declare_networks_export(Command& command);
std::function<int()> declare_networks_import(Command& command);
std::function<int()> declare_networks_schema(Command& command);
std::function<int()> declare_networks_features(Command& command);
std::function<int()> declare_networks_stats(Command& command);

std::function<int()> declare_probe(Command& command);

std::function<int()> declare_report(Command& command);

std::function<int()> declare_sample(Command& command);

std::function<int()> declare_study(Command& command);
std::function<int()> declare_study_plan(Command& command);
std::function<int()> declare_study_run(Command& command);
std::function<int()> declare_study_status(Command& command);
std::function<int()> declare_study_export(Command& command);
std::function<int()> declare_study_collect(Command& command);
std::function<int()> declare_study_cancel(Command& command);
std::function<int()> declare_study_exec(Command& command);
std::function<int()> declare_study_import(Command& command);
std::function<int()> declare_study_analyze(Command& command);
std::function<int()> declare_study_history(Command& command);

std::function<int()> declare_trace(Command& command);
std::function<int()> declare_trace_summarize(Command& command);
std::function<int()> declare_trace_diff(Command& command);

}  // namespace trainyard::cli
