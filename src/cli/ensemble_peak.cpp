#include "base/cores.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ensemble.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "data/get/scratch_folder.h"
#include "launch/train_job.h"
#include "process/stop_request.h"

namespace trainyard::cli {
namespace {

using ensemble::Design;

struct PeakOptions {
  ensemble::EnsembleOptions ensemble;
  std::vector<std::string> designs;
  std::vector<int> sizes{1, 2, 4};
  bool csv = false;
};

// Each member's pace when none of them trains, with the queues as they are in the midst of a run.
struct Peak {
  std::string design;
  int members = 0, preprocessors = 0;
  double images_per_second = 0, least = 0, most = 0;  // of a member: mean, slowest, fastest
  double cpu_seconds_per_image = 0;                   // that a member gets
};

// Returns nothing when a stop was requested: a measurement that was cut short makes no row.
std::optional<Peak> measure_peak_of(const ensemble::EnsembleOptions& options) {
  const ensemble::EnsembleSpec spec = to_ensemble(options);
  const data::ScratchFolder scratch(std::filesystem::temp_directory_path(), "trainyard-ensemble-");
  launch::run_ensemble_job(options, spec, scratch.path(), terminal_progress(false));
  if (process::StopRequest::asked()) return std::nullopt;
  const ensemble::EnsembleParts parts = ensemble::read_parts(scratch.path(), spec);
  const record::RunRecord summary = summarize(parts, spec, options, {});
  Peak peak{.design = name(spec.design),
            .members = static_cast<int>(spec.members.size()),
            .preprocessors = spec.preprocessors,
            .images_per_second = summary.images_per_second.value_or(0),
            .least = summary.figure_or("slowest_images_per_second", 0),
            .cpu_seconds_per_image = summary.figure_or("cpu_seconds_per_image", 0)};
  for (const auto& member : parts.members)
    if (member && member->images_per_second) peak.most = std::max(peak.most, *member->images_per_second);
  return peak;
}

void print_peaks(const std::vector<Peak>& peaks, const PeakOptions& options) {
  if (options.ensemble.json) {
    Json rows = Json::array();
    for (const Peak& peak : peaks)
      rows.push_back({{"design", peak.design},
                      {"members", peak.members},
                      {"preprocessors", peak.preprocessors},
                      {"images_per_second", peak.images_per_second},
                      {"slowest_images_per_second", peak.least},
                      {"fastest_images_per_second", peak.most},
                      {"cpu_seconds_per_image", peak.cpu_seconds_per_image}});
    fmt::print("{}\n", json_text(rows, 2));
    return;
  }
  if (options.csv) {
    fmt::print("design,members,preprocessors,peak\n");
    for (const Peak& peak : peaks)
      fmt::print("{},{},{},{:.3f}\n", peak.design, peak.members, peak.preprocessors, peak.images_per_second);
    return;
  }
  fmt::print("{:<24} {:>7} {:>13} {:>10} {:>19} {:>12}\n", "design", "members", "preprocessors", "images/s",
             "slowest - fastest", "CPU an image");
  for (const Peak& peak : peaks)
    fmt::print("{:<24} {:>7} {:>13} {:>10.1f} {:>9.1f} - {:>7.1f} {:>12}\n", peak.design, peak.members,
               peak.preprocessors, peak.images_per_second, peak.least, peak.most,
               format_seconds(peak.cpu_seconds_per_image));
}

int run_peak(const PeakOptions& options) {
  std::vector<Peak> peaks;
  const process::StopRequest guard;
  for (const std::string& design : options.designs.empty() ? ensemble::design_names() : options.designs)
    for (const int members : options.sizes) {
      ensemble::EnsembleOptions one = options.ensemble;
      one.design = design;
      one.members = members;
      one.rate = 0;
      if (one.seconds <= 0) one.seconds = 5;
      const auto found = ensemble::find_design(design);
      // Only these designs leave the number of preprocessors to the user; the others do not get it.
      if (found && *found != Design::single_broadcast && *found != Design::multi_broadcast &&
          *found != Design::multi_broadcast_as_built)
        one.preprocessors = 0;
      one.preprocessors = std::min(one.preprocessors, members);
      if (process::StopRequest::asked()) break;
      if (!one.quiet) print_note(fmt::format("{} with {}...\n", design, members));
      if (const std::optional<Peak> peak = measure_peak_of(one)) peaks.push_back(*peak);
    }
  print_peaks(peaks, options);
  if (!process::StopRequest::asked()) return 0;
  return report_interrupted(fmt::format("ensemble peak: interrupted after {} rows", peaks.size()));
}

}  // namespace

std::function<int()> declare_ensemble_peak(Command& command) {
  const auto options = std::make_shared<PeakOptions>();
  add_ensemble_options(command, options->ensemble);
  command.add_option("--designs", options->designs, "Designs (default: all)")->delimiter(',');
  command.add_option("--sizes", options->sizes, "Numbers of members")
      ->transform(within("members"))
      ->delimiter(',')
      ->capture_default_str();
  command.add_flag("--csv", options->csv, "Comma-separated values, peaks with three decimals");
  command.footer(
      "Members take batches as fast as they come, --seconds long (default 5), of which the first tenth of "
      "the\n"
      "batches does not count; nothing else runs meanwhile. A network of members is fed when its peak is "
      "above the\n"
      "network's demand (`ensemble demand`).\n\n"
      "Examples:\n"
      "  trainyard ensemble peak studies/ensemble-photos.yaml --designs all-shared --sizes 2 --seconds 0.3\n"
      "  trainyard ensemble peak studies/ensemble-photos.yaml --designs shared-memory --seconds 0.2 --csv");
  return [options, &command] {
    warn_of_idle_options(
        command,
        {{true, {"--design", "--members"}, "--designs and --sizes say what is measured"},
         {true, {"--rate", "--no-eval"}, "members take what comes, and train nothing"},
         {true, {"--out", "--overwrite", "--record", "--idle-seconds"}, "nothing of the runs is kept"}});
    if (options->ensemble.cores > 0) limit_process_cores(options->ensemble.cores);
    return run_peak(*options);
  };
}

}  // namespace trainyard::cli
