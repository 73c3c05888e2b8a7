#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/study_commands.h"
#include "cli/study_results.h"
#include "study/import_published.h"
#include "study/import_study.h"

namespace trainyard::cli {
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
  const study::Progress progress = study::progress_of(folder);
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

std::function<int()> declare_study_import(CLI::App& command) {
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
