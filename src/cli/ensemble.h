#pragma once

namespace CLI {
class App;
}

namespace CLI {
class App;
}

#include <functional>

namespace trainyard::cli {

// Each declares a command of `ensemble`; the closure runs it and returns the exit code.
std::function<int()> declare_ensemble_run(CLI::App& command);
std::function<int()> declare_ensemble_peak(CLI::App& command);
std::function<int()> declare_ensemble_demand(CLI::App& command);
std::function<int()> declare_ensemble_tables(CLI::App& command);
std::function<int()> declare_ensemble_script(CLI::App& command);
std::function<int()> declare_ensemble_member(CLI::App& command);
std::function<int()> declare_ensemble_preprocess(CLI::App& command);

// Declares its commands; the closure runs the chosen one and returns the exit code.
std::function<int()> declare_ensemble(CLI::App& command);

}  // namespace trainyard::cli
