#include "cli/stopping_options.h"

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace trainyard::cli {

void add_stopping_options(CLI::App& command, StoppingOptions& options) {
  command.add_option("--until-width", options.until_width,
                     "Stop when the 95 % interval of the mean step is within this share of it, such as 0.02; "
                     "--steps is the most");
  command.add_option("--max-seconds", options.max_seconds, "Stop when the timed steps took so long together");
}

record::StoppingLimits to_limits(const StoppingOptions& options, std::int64_t max_steps) {
  if (!(options.until_width >= 0 && options.until_width < 1))
    fail(ErrorKind::usage, "--until-width {}: must be from 0 to below 1", options.until_width);
  if (!(options.max_seconds >= 0))
    fail(ErrorKind::usage, "--max-seconds {}: must be at least 0", options.max_seconds);
  record::StoppingLimits limits;
  limits.max_steps = max_steps;
  limits.relative_half_width = options.until_width;
  if (options.max_seconds > 0) limits.max_seconds = options.max_seconds;
  return limits;
}

}  // namespace trainyard::cli
