#pragma once

// Declares `trainyard data` and its subcommands.

namespace CLI {
class App;
}

#include <functional>

#include <CLI/CLI.hpp>

namespace trainyard::cli {

std::function<int()> declare_data_pack(CLI::App& command);
std::function<int()> declare_data_info(CLI::App& command);

// Declares `get`, `list`, `pack` and `info` on the command; the closure runs the chosen one and returns the
// exit code.
std::function<int()> declare_data(CLI::App& command);

}  // namespace trainyard::cli
