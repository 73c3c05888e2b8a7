#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace trainyard::cli {

std::function<int()> declare_place(CLI::App& command);

}  // namespace trainyard::cli
