#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace trainyard::cli {

std::function<int()> declare_predict(CLI::App& command);

}  // namespace trainyard::cli
