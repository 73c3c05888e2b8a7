#include "cli/run_report.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/core.h>

#include "base/units.h"
#include "record/metric.h"

namespace trainyard::cli {

void print_report(const record::RunRecord& run) {
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<20} {}\n", label, value);
  };
  const auto figure = [&](record::NumberName name) { return run.figure_or(name, 0); };
  const record::StepStatistics& steps = run.statistics;
  row("network", fmt::format("{}, batch {:.0f}, {}", run.words.at("network"), figure("batch"),
                             run.words.at("mode") == "infer" ? "inference" : run.words.at("optimizer")));
  row("runs on", fmt::format("{} {}, {:.0f} threads", run.words.at("backend"), run.words.at("precision"),
                             figure("threads")));
  if (figure("devices") > 1)
    row("devices", fmt::format("{:.0f}, {}, {} scaling: {:.0f} images each, {:.0f} together",
                               figure("devices"), run.words.at("strategy"), run.words.at("scaling"),
                               figure("batch_per_device"), figure("global_batch")));
  row("parameters", format_count(figure("parameters")));
  row("flops per step", format_flops(figure("flops_per_step")));
  if (steps.steps > 0) {
    row("step",
        fmt::format("mean {} ({} .. {}), median {}, min {}, p95 {} over {} steps", format_seconds(steps.mean),
                    format_seconds(std::max(steps.mean_interval.low, 0.0)),
                    format_seconds(steps.mean_interval.high), format_seconds(steps.median),
                    format_seconds(steps.min), format_seconds(steps.p95),
                    steps.steps - steps.unsteady_steps));
    if (steps.unsteady_steps > 0)
      row("warm-up found", fmt::format("{} steps left out", steps.unsteady_steps));
    row("images per second",
        fmt::format("{:.0f}; {:.0f} by the median step", run.images_per_second.value_or(0),
                    figure("median_images_per_second")));
    std::string rate = format_rate(figure("flops_per_second"));
    if (std::isfinite(figure("peak_fraction")))
      rate += fmt::format(" = {:.0f} % of the measured {}", 100 * figure("peak_fraction"),
                          format_rate(figure("peak_flops_per_second")));
    row("rate", rate);
    if (run.words.at("feed") != "none")
      row("batches", fmt::format("made by the {}, {:.1f} % of the time spent waiting for them",
                                 run.words.at("feed"), 100 * figure("input_wait_fraction")));
  }
  row("cores used", fmt::format("{:.2f} of {:.0f}", figure("cores_used"), figure("cores_allowed")));
  row("peak memory", record::peak_memory_text(run));
  for (const record::Warning& warning : run.warnings) row("warning", warning.text);
}

}  // namespace trainyard::cli
