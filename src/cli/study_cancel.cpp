#include <memory>

#include <fmt/format.h>

#include "cli/study_commands.h"
#include "cli/study_options.h"
#include "study/slurm/launcher.h"

namespace trainyard::cli {
namespace {

struct StudyCancelOptions {
  std::filesystem::path folder;
  bool json = false;
};

int cancel(const StudyCancelOptions& options) {
  const int runs = study::slurm::cancel(existing_folder(options.folder));
  if (options.json)
    fmt::print("{{\"cancelled\":{}}}\n", runs);
  else
    fmt::print("{} runs taken out of Slurm's queue\n", runs);
  return 0;
}

}  // namespace

std::function<int()> declare_study_cancel(CLI::App& command) {
  const auto options = std::make_shared<StudyCancelOptions>();
  command.add_option("folder", options->folder, "The study's folder")->required()->type_name("DIR");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Cancelled runs are tried again by the next 'study run'.\n\n"
      "Examples:\n"
      "  trainyard study cancel results/smoke\n"
      "  trainyard study cancel results/smoke --json");
  return [options] { return cancel(*options); };
}

}  // namespace trainyard::cli
