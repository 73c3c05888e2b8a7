#include "cli/stopping_options.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/option_checks.h"

namespace trainyard::cli {

void add_stopping_options(CLI::App& command, StoppingOptions& options) {
  command
      .add_option("--until-width", options.until_width,
                  "Stop when the 95 % interval of the mean step is within this share of it, such as 0.02; "
                  "--steps is the most")
      ->transform(within("until_width"));
  command.add_option("--max-seconds", options.max_seconds, "Stop when the timed steps took so long together")
      ->transform(within("max_seconds"));
}

record::StoppingLimits to_limits(const StoppingOptions& options, std::int64_t max_steps) {
  record::StoppingLimits limits;
  limits.max_steps = max_steps;
  limits.relative_half_width = options.until_width;
  if (options.max_seconds > 0) limits.max_seconds = options.max_seconds;
  return limits;
}

}  // namespace trainyard::cli
