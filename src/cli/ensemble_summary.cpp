#include "cli/ensemble_summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/units.h"

namespace trainyard::cli {

namespace {

double cpu_seconds(const record::RunRecord& run) {
  return run.figure_or("process_user_seconds", 0) + run.figure_or("process_system_seconds", 0);
}

}  // namespace

void print_ensemble(const ensemble::EnsembleParts& parts, const record::RunRecord& summary) {
  fmt::print("{:<8} {:<24} {:>10} {:>10} {:>10} {:>9} {:>9}\n", "member", "network", "images/s", "images",
             "waiting", "CPU", "accuracy");
  const auto row = [](const std::string& number, const record::RunRecord& run) {
    const double accuracy = ensemble::accuracy_of(run);
    fmt::print("{:<8} {:<24} {:>10} {:>10.0f} {:>10} {:>9} {:>9}\n", number, run.words.at("member"),
               run.images_per_second ? fmt::format("{:.1f}", *run.images_per_second) : "-",
               run.figure_or("images_consumed", run.figure_or("images_made", 0)),
               format_seconds(run.figure_or("input_wait_seconds", 0)), format_seconds(cpu_seconds(run)),
               std::isfinite(accuracy) ? fmt::format("{:.4f}", accuracy) : "-");
  };
  for (std::size_t i = 0; i < parts.members.size(); ++i) {
    if (parts.members[i])
      row(std::to_string(i), *parts.members[i]);
    else
      fmt::print("{:<8} lost\n", i);
  }
  if (parts.preprocessor) row("-", *parts.preprocessor);
  fmt::print("{} members by {}: {:.1f} images/s each, {:.1f} in all; {} CPU, {} an image\n",
             parts.members.size(), record::to_text(summary.asked.at("design")),
             summary.images_per_second.value_or(0), summary.figure_or("total_images_per_second", 0),
             format_seconds(summary.figure_or("cpu_seconds", 0)),
             format_seconds(summary.figure_or("cpu_seconds_per_image", 0)));
  if (const double joules = summary.figure_or("energy_joules", 0); joules > 0)
    fmt::print(
        "{:.0f} J, {:.0f} W; {:.4f} J an image{}\n", joules, summary.figure_or("power_watts", 0),
        summary.figure_or("energy_joules_per_image", 0),
        summary.figure_or("idle_power_watts", 0) > 0
            ? fmt::format(", {:.4f} above idle", summary.figure_or("energy_above_idle_joules_per_image", 0))
            : "");
  if (const double skipped = summary.figure_or("images_skipped", 0); skipped > 0)
    fmt::print("{:.0f} damaged images were left out\n", skipped);
  if (parts.vote)
    fmt::print("vote: {:.4f} by mean probability, {:.4f} by majority; the best member {:.4f}\n",
               parts.vote->mean_probability, parts.vote->majority,
               summary.figure_or("best_member_accuracy", 0));
}

}  // namespace trainyard::cli
