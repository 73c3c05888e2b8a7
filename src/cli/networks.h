#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace trainyard::cli {

// Declares `trainyard networks [NAME] [--json]` and its subcommands; the closure runs it and returns the exit
// code.
std::function<int()> declare_networks(CLI::App& command);

}  // namespace trainyard::cli
