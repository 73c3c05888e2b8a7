#pragma once

#include <functional>

#include <CLI/CLI.hpp>

// The subcommands of `trainyard trace`, one file each.
namespace trainyard::cli {

std::function<int()> declare_trace_summarize(CLI::App& command);
std::function<int()> declare_trace_diff(CLI::App& command);

}  // namespace trainyard::cli
