#pragma once

// Declares `trainyard study` and its subcommands.

#include <functional>

#include <CLI/CLI.hpp>

namespace trainyard::cli {

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

// Declares the options of `study` and of its subcommands on `command`; the result runs the one given.
std::function<int()> declare_study(CLI::App& command);

}  // namespace trainyard::cli
