#pragma once

#include <functional>

#include <CLI/CLI.hpp>

// The subcommands of `trainyard networks`.
namespace trainyard::cli {

std::function<int()> declare_networks_export(CLI::App& command);
std::function<int()> declare_networks_import(CLI::App& command);
std::function<int()> declare_networks_features(CLI::App& command);
std::function<int()> declare_networks_stats(CLI::App& command);

}  // namespace trainyard::cli
