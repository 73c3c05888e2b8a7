#include "cli/bench.h"

#include <memory>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/progress.h"
#include "base/units.h"
#include "cli/run_options.h"
#include "cli/run_report.h"
#include "cli/stopping_options.h"
#include "engine/initialise.h"
#include "train/session.h"

namespace trainyard::cli {
namespace {

struct BenchOptions {
  RunOptions run;
  std::int64_t steps = 50, warmup_steps = 5;
  StoppingOptions stopping;
  bool raw_steps = false;
};

int bench(const BenchOptions& options) {
  if (options.steps < 1) fail(ErrorKind::usage, "--steps {}: must be at least 1", options.steps);
  if (options.warmup_steps < 0)
    fail(ErrorKind::usage, "--warmup {}: must be at least 0", options.warmup_steps);
  record::StoppingRule rule(to_limits(options.stopping, options.steps));
  train::Session session(to_session(options.run));
  engine::initialise_inputs(session.executor(), options.run.seed);
  const double peak_before = measure_peak(session.backend());

  std::vector<double> step_seconds;
  ProgressBar bar("bench " + options.run.network, options.steps + options.warmup_steps, options.run.quiet);
  for (std::int64_t step = 0; step < options.steps + options.warmup_steps; ++step) {
    const double start = now_seconds();
    session.executor().run({options.run.seed, step});
    const double seconds = now_seconds() - start;
    bar.update(step + 1, bar.due() ? format_seconds(seconds) + " a step" : "");
    if (step < options.warmup_steps) continue;
    step_seconds.push_back(seconds);
    if (rule.add(seconds)) break;
  }

  // Shared machines drift: the roof is the mean of what it was on either side of the run.
  const double peak = 0.5 * (peak_before + measure_peak(session.backend()));
  nlohmann::ordered_json report = run_report(session, options.run, step_seconds, options.warmup_steps, peak);
  report["stopped_by"] = record::name(rule.state());
  if (options.raw_steps) report["raw_step_seconds"] = step_seconds;
  if (options.run.json)
    fmt::print("{}\n", report.dump());
  else
    print_report(report);
  return 0;
}

}  // namespace

std::function<int()> declare_bench(CLI::App& command) {
  const auto options = std::make_shared<BenchOptions>();
  add_run_options(command, options->run);
  command.add_option("--steps,-s", options->steps, "Timed steps")->capture_default_str();
  command.add_option("--warmup", options->warmup_steps, "Steps before the timed ones")->capture_default_str();
  add_stopping_options(command, options->stopping);
  command.add_flag("--raw-steps", options->raw_steps, "With --json: the seconds of every step, too");
  command.footer(
      "Examples:\n"
      "  trainyard bench --network deepmnist --batch 50 --optimizer adam --steps 20\n"
      "  trainyard bench --network lenet --batch 64 --threads 1 --steps 10 --json");
  return [options] { return bench(*options); };
}

}  // namespace trainyard::cli
