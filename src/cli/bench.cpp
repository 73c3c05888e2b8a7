#include "cli/bench.h"

#include <memory>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "base/units.h"
#include "cli/deployment_options.h"
#include "cli/run_options.h"
#include "cli/run_report.h"
#include "engine/initialise.h"
#include "train/replicas.h"
#include "train/timed_steps.h"

namespace trainyard::cli {
namespace {

struct BenchOptions {
  RunOptions run;
  DeploymentOptions deployment;
  std::int64_t steps = 50, warmup_steps = 5;
  bool raw_steps = false;
};

int bench(const BenchOptions& options) {
  if (options.steps < 1) fail(ErrorKind::usage, "--steps {}: must be at least 1", options.steps);
  if (options.warmup_steps < 0)
    fail(ErrorKind::usage, "--warmup {}: must be at least 0", options.warmup_steps);
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  train::SessionOptions wanted = to_session(options.run);
  wanted.model.batch = deployment.batch_per_device(options.run.batch);
  // Shared machines drift: the roof is the mean of what it was on either side of the run.
  const int threads = deployment.devices *
                      static_cast<int>(train::share_cores(wanted.threads, deployment.devices).front().size());
  const double peak_before = measure_peak(wanted.backend, threads);
  train::Replicas replicas(wanted, deployment);
  replicas.run([&](int device) {
    engine::initialise_inputs(replicas.session(device).executor(),
                              train::device_seed(options.run.seed, device));
  });

  ProgressBar bar("bench " + options.run.network, options.steps + options.warmup_steps, options.run.quiet);
  const train::TimedSteps timed = train::time_steps(
      replicas, {options.warmup_steps, options.steps, [&](std::int64_t done, double seconds) {
                   bar.update(done, bar.due() ? format_seconds(seconds) + " a step" : "");
                   return true;
                 }});
  const double peak = 0.5 * (peak_before + measure_peak(wanted.backend, threads));
  nlohmann::ordered_json report =
      run_report(replicas.facts(), options.run, timed.seconds, options.warmup_steps, peak);
  add_deployment(report, deployment,
                 {timed.images_consumed, static_cast<std::int64_t>(timed.seconds.size()), timed.cpu,
                  timed.cores_in_reach});
  if (options.raw_steps) report["raw_step_seconds"] = timed.seconds;
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
  add_deployment_options(command, options->deployment);
  command.add_option("--steps,-s", options->steps, "Timed steps")->capture_default_str();
  command.add_option("--warmup", options->warmup_steps, "Steps before the timed ones")->capture_default_str();
  command.add_flag("--raw-steps", options->raw_steps, "With --json: the seconds of every step, too");
  command.footer(
      "Examples:\n"
      "  trainyard bench --network deepmnist --batch 50 --optimizer adam --steps 20\n"
      "  trainyard bench --network lenet --batch 64 --threads 1 --steps 10 --json");
  return [options] { return bench(*options); };
}

}  // namespace trainyard::cli
