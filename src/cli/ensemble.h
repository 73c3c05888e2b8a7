#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace trainyard::cli {

// Declares its commands; the closure runs the chosen one and returns the exit code.
std::function<int()> declare_ensemble(CLI::App& command);

}  // namespace trainyard::cli
