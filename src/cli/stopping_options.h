#pragma once

#include <cstdint>

#include "record/stopping.h"

namespace CLI {
class App;
}

namespace trainyard::cli {

// When to end a measurement before its last step.
struct StoppingOptions {
  double until_width = 0;  // 0: not by it
  double max_seconds = 0;  // 0: no limit
};

void add_stopping_options(CLI::App& command, StoppingOptions& options);

// Error (usage) for what cannot be meant.
record::StoppingLimits to_limits(const StoppingOptions& options, std::int64_t max_steps);

}  // namespace trainyard::cli
