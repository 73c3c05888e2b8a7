#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace trainyard::cli {

// Declares the options of `study` and of its subcommands on `command`; the result runs the one given.
std::function<int()> declare_study(CLI::App& command);

}  // namespace trainyard::cli
