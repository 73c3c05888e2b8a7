#pragma once

#include <functional>

#include <CLI/CLI.hpp>

// The subcommands of `trainyard predict`, one file each.
namespace trainyard::cli {

std::function<int()> declare_predict_fit(CLI::App& command);
std::function<int()> declare_predict_eval(CLI::App& command);
std::function<int()> declare_predict_run(CLI::App& command);

}  // namespace trainyard::cli
