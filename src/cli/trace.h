#pragma once

// Declares `trainyard trace` and its subcommands.

#include <functional>

#include <CLI/CLI.hpp>

namespace trainyard::cli {

std::function<int()> declare_trace_summarize(CLI::App& command);
std::function<int()> declare_trace_diff(CLI::App& command);

std::function<int()> declare_trace(CLI::App& command);

}  // namespace trainyard::cli
