#pragma once

// Declares `trainyard networks` and its subcommands.

namespace CLI {
class App;
}

#include <functional>

#include <CLI/CLI.hpp>

namespace trainyard::cli {

std::function<int()> declare_networks_export(CLI::App& command);
std::function<int()> declare_networks_import(CLI::App& command);
std::function<int()> declare_networks_features(CLI::App& command);
std::function<int()> declare_networks_stats(CLI::App& command);

// Declares `trainyard networks [NAME] [--json]` and its subcommands; the closure runs it and returns the exit
// code.
std::function<int()> declare_networks(CLI::App& command);

}  // namespace trainyard::cli
