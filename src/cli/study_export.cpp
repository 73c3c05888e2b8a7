#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "cli/study.h"
#include "study/cell/settings.h"
#include "study/import/import.h"
#include "study/run/export.h"

namespace trainyard::cli {

namespace {

struct StudyExportOptions {
  std::filesystem::path folder, out;
  std::string format = "csv", build;
  bool cells = false;
};

std::string number_text(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

// Writes one line a cell: its settings, and the median speed of its runs with its interval.
std::string cells_text(const study::StudyProgress& progress, bool csv) {
  const std::vector<CellProgress> cells = summarize_cells(progress);
  if (!csv) {
    const Json json = progress_json(progress);
    std::string lines;
    for (const auto& cell : json["cells"]) lines += json_text(cell) + "\n";
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
    for (const std::string& name : names)
      text += "," + study::csv_word(study::setting_text(cell.settings, name));
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

std::function<int()> declare_study_export(Command& command) {
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

namespace {

struct StudyImportOptions {
  std::filesystem::path folder;
  std::vector<std::filesystem::path> from;
  std::string name;
  bool name_all = false;  // of the files that were left out
};

// Cells that people still read one by one.
constexpr std::int64_t kMostRows = 200;

// By reason, with the first names: a folder of others holds programs and pictures, too.
void print_left_out(const std::vector<study::LeftOut>& left_out, std::size_t most) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const study::LeftOut& file : left_out) by_reason[file.reason].push_back(file.file.string());
  for (const auto& [reason, files] : by_reason) {
    fmt::print("left out, {}: {} file{}\n", reason, files.size(), files.size() == 1 ? "" : "s");
    for (std::size_t i = 0; i < std::min(files.size(), most); ++i) fmt::print("  {}\n", files[i]);
    if (files.size() > most) fmt::print("  and {} more: --left-out names all\n", files.size() - most);
  }
}

int import(const StudyImportOptions& options) {
  const study::Folder folder{std::filesystem::absolute(options.folder).lexically_normal()};
  study::refuse_to_import(folder);
  check_output_folder(folder.path);
  std::vector<study::LeftOut> left_out;
  const std::vector<record::RunRecord> runs = study::import_published(options.from, &left_out);
  if (runs.empty())
    fail(ErrorKind::config, "no job output of PSC, JSON of ParaDnn or CSV of its re-make in '{}'",
         options.from.front().string());
  const int added = study::import_study(
      folder, options.name.empty() ? folder.path.filename().string() : options.name, runs);
  const study::StudyProgress progress = study::progress_of(folder);
  if (progress.expected() <= kMostRows)
    print_progress(progress);
  else
    print_totals(progress);
  fmt::print("{} of {} published runs were new\n", added, runs.size());
  constexpr std::size_t kFewNames = 5;
  print_left_out(left_out, options.name_all ? left_out.size() : kFewNames);
  return 0;
}

}  // namespace

std::function<int()> declare_study_import(Command& command) {
  const auto options = std::make_shared<StudyImportOptions>();
  command.add_option("folder", options->folder, "Folder for the imported study")
      ->required()
      ->type_name("DIR");
  command.add_option("--from", options->from, "Published files, or folders of them")
      ->required()
      ->type_name("PATH");
  command.add_option("--name", options->name, "Name of the study (default: the folder's)");
  command.add_flag("--left-out", options->name_all,
                   "Name every file that was left out, not the first of each kind");
  command.footer(
      "What a file holds is told by its content: job outputs of PSC's DeepMNIST benchmarks; ParaDnn's JSON "
      "of\n"
      "sweeps, traces and op breakdowns; CSV of its PyTorch re-make (docs/formats). Points without a result\n"
      "are kept with the reason. Speeds of several GPUs in PSC's outputs are corrected to the images really\n"
      "trained; the printed figures stay in the legacy columns of `study export`. A folder with runs of its "
      "own is\n"
      "refused.\n\n"
      "Examples:\n"
      "  trainyard study import results/psc --from psc\n"
      "  trainyard study import results/paradnn --from paradnn/gpu_fc.json --name paradnn");
  return [options] { return import(*options); };
}

}  // namespace trainyard::cli
