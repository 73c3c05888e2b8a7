#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/study_commands.h"
#include "cli/study_results.h"
#include "study/import_psc.h"
#include "study/import_study.h"

namespace trainyard::cli {
namespace {

struct Options {
  std::filesystem::path folder;
  std::vector<std::filesystem::path> from;
  std::string name = "psc";
};

int import(const Options& options) {
  const std::vector<record::RunRecord> runs = study::import_psc(options.from);
  if (runs.empty())
    fail(ErrorKind::config, "no job output of PSC's benchmarks in '{}'", options.from.front().string());
  const study::Folder folder{std::filesystem::absolute(options.folder).lexically_normal()};
  const int added = study::import_study(folder, options.name, runs);
  print_progress(study::progress_of(folder));
  fmt::print("{} of {} job outputs were new\n", added, runs.size());
  return 0;
}

}  // namespace

std::function<int()> declare_study_import(CLI::App& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("folder", options->folder, "Folder for the imported study")
      ->required()
      ->type_name("DIR");
  command
      .add_option("--from", options->from, "Job outputs of PSC's DeepMNIST benchmarks, or folders of them")
      ->required()
      ->type_name("PATH");
  command.add_option("--name", options->name, "Name of the study")->capture_default_str();
  command.footer(
      "Speeds of several GPUs are corrected to the images really trained; the printed figures stay in the\n"
      "legacy columns of `study export`. Jobs without a result are kept with the reason.\n\n"
      "Examples:\n"
      "  trainyard study import results/psc --from psc\n"
      "  trainyard study import results/psc --from psc --name psc");
  return [options] { return import(*options); };
}

}  // namespace trainyard::cli
