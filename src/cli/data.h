#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace trainyard::cli {

// Declares `get`, `list`, `pack` and `info` on the command; the closure runs the chosen one and returns the
// exit code.
std::function<int()> declare_data(CLI::App& command);

}  // namespace trainyard::cli
