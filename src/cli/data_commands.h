#pragma once

#include <functional>

#include <CLI/CLI.hpp>

// The subcommands of `trainyard data` that have a file of their own.
namespace trainyard::cli {

std::function<int()> declare_data_pack(CLI::App& command);
std::function<int()> declare_data_info(CLI::App& command);

}  // namespace trainyard::cli
