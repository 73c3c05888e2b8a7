#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/study_commands.h"
#include "cli/study_options.h"
#include "cli/study_results.h"
#include "study/slurm/launcher.h"

namespace trainyard::cli {
namespace {

struct StudyStatusOptions {
  std::filesystem::path folder;
  std::string build;
  bool json = false;
};

int status(const StudyStatusOptions& options) {
  const study::Folder folder = existing_folder(options.folder);
  study::Progress progress = progress_of_build(folder, options.build);
  study::note_running(folder, progress);
  const std::string silent = study::slurm::note_in_flight(folder, progress);
  if (!silent.empty()) fmt::print(stderr, "trainyard: {}; runs in its queue count as missing\n", silent);
  if (options.json)
    fmt::print("{}\n", progress_json(progress).dump());
  else
    print_progress(progress);
  return 0;
}

}  // namespace

std::function<int()> declare_study_status(CLI::App& command) {
  const auto options = std::make_shared<StudyStatusOptions>();
  command.add_option("folder", options->folder, "The study's folder")->required()->type_name("DIR");
  add_build_option(command, options->build);
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Runs without a record are running, queued (in Slurm's queue) or missing. Of each cell --json has the "
      "median\n"
      "speed over its runs with its interval (docs/formats/study.md).\n\n"
      "Examples:\n"
      "  trainyard study status results/smoke\n"
      "  trainyard study status results/smoke --json");
  return [options] { return status(*options); };
}

}  // namespace trainyard::cli
