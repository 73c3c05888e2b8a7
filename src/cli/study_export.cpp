#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "cli/study_commands.h"
#include "cli/study_options.h"
#include "study/export.h"
#include "study/progress.h"

namespace trainyard::cli {
namespace {

struct StudyExportOptions {
  std::filesystem::path folder, out;
  std::string format = "csv";
};

int export_study(const StudyExportOptions& options) {
  if (options.format != "csv" && options.format != "jsonl")
    fail(ErrorKind::usage, "--format '{}'{}: csv or jsonl", options.format,
         did_you_mean(options.format, {"csv", "jsonl"}));
  const std::vector<record::RunRecord> runs = study::runs_of(existing_folder(options.folder));
  const std::string text = options.format == "csv" ? study::to_csv(runs) : study::to_json_lines(runs);
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
  command.add_option("--out,-o", options->out, "File to write (default: standard output)")->type_name("FILE");
  command.footer(
      "Every attempt is a line, failed ones too. The CSV begins with the eight columns of PSC's "
      "benchmarks.\n\n"
      "Examples:\n"
      "  trainyard study export results/smoke\n"
      "  trainyard study export results/smoke --format jsonl");
  return [options] { return export_study(*options); };
}

}  // namespace trainyard::cli
