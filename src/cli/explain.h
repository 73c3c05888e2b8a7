#pragma once

namespace CLI {
class App;
}

#include <functional>

#include "cli/run_options.h"

namespace trainyard::cli {

std::function<int()> declare_explain(CLI::App& command);

// Counts what a step costs in three ways: by formulas when the network is a generated one, by walking its
// graph, and as the sum over the kernels that would run. Prints a table, or one JSON object with --json.
void explain_counts(const run::RunOptions& options);

}  // namespace trainyard::cli
