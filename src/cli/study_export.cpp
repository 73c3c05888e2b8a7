#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "cli/outputs.h"
#include "cli/study_commands.h"
#include "cli/study_options.h"
#include "cli/study_results.h"
#include "study/export.h"
#include "study/progress.h"

namespace trainyard::cli {
namespace {

struct StudyExportOptions {
  std::filesystem::path folder, out;
  std::string format = "csv", build;
  bool cells = false;
};

std::string number_text(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

// One line a cell: its settings, and the median speed of its runs with its interval.
std::string cells_text(const study::Progress& progress, bool csv) {
  const std::vector<CellProgress> cells = summarize_cells(progress);
  if (!csv) {
    const nlohmann::ordered_json json = progress_json(progress);
    std::string lines;
    for (const auto& cell : json["cells"]) lines += cell.dump() + "\n";
    return lines;
  }
  std::set<std::string> names;
  for (const CellProgress& cell : cells)
    for (const auto& [name, value] : cell.settings) names.insert(name);
  std::string text =
      "cell,label,expected,done,warnings,runs,images_per_second,images_per_second_low,"
      "images_per_second_high,run_spread";
  for (const std::string& name : names) text += "," + study::csv_word("asked_" + name);
  text += "\n";
  for (const CellProgress& cell : cells) {
    const auto& speed = cell.images_per_second;
    const auto figure = [&](bool known, auto get) {
      return number_text(speed && known ? std::optional<double>(get(*speed)) : std::nullopt);
    };
    const bool several = speed && speed->runs > 1;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}", cell.cell, study::csv_word(cell.label),
                        cell.expected, cell.done, cell.warnings, speed ? speed->runs : 0,
                        figure(true, [](const auto& of) { return of.median; }),
                        figure(several, [](const auto& of) { return of.interval.low; }),
                        figure(several, [](const auto& of) { return of.interval.high; }),
                        figure(several, [](const auto& of) { return of.run_spread; }));
    for (const std::string& name : names) text += "," + study::csv_word(setting_text(cell.settings, name));
    text += "\n";
  }
  return text;
}

int export_study(const StudyExportOptions& options) {
  if (options.format != "csv" && options.format != "jsonl")
    fail(ErrorKind::usage, "--format '{}'{}: csv or jsonl", options.format,
         did_you_mean(options.format, {"csv", "jsonl"}));
  const study::Folder folder = existing_folder(options.folder);
  const bool csv = options.format == "csv";
  const auto runs_text = [&] {
    const std::vector<record::RunRecord> runs =
        options.build.empty() ? study::runs_of(folder) : study::runs_of_build(folder, options.build);
    return csv ? study::to_csv(runs) : study::to_json_lines(runs);
  };
  const std::string text =
      options.cells ? cells_text(progress_of_build(folder, options.build), csv) : runs_text();
  if (options.out.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  AtomicFile file(options.out);
  file.write(text);
  file.commit();
  return 0;
}

}  // namespace

std::function<int()> declare_study_export(CLI::App& command) {
  const auto options = std::make_shared<StudyExportOptions>();
  command.add_option("folder", options->folder, "The study's folder")->required()->type_name("DIR");
  command.add_option("--format,-f", options->format, "csv or jsonl")->capture_default_str();
  command.add_flag("--cells", options->cells,
                   "A line a cell instead of a run: the median speed over its runs, and its 95 % interval");
  command
      .add_option("--build", options->build,
                  "Only runs of this build, or of the one whose name begins so (default: all; with --cells: "
                  "that of the last run)")
      ->type_name("BUILD");
  add_output_file(command, "--out,-o", options->out, "File to write (default: standard output)");
  command.footer(
      "Every attempt is a line, failed ones too. The CSV begins with the eight columns of PSC's "
      "benchmarks.\n\n"
      "Examples:\n"
      "  trainyard study export results/smoke --format jsonl\n"
      "  trainyard study export results/smoke --cells");
  return [options] { return export_study(*options); };
}

}  // namespace trainyard::cli
