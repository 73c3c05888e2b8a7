#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/study_commands.h"
#include "cli/study_options.h"
#include "cli/study_results.h"
#include "study/slurm/launcher.h"

namespace trainyard::cli {
namespace {

struct StudyCollectOptions {
  std::filesystem::path folder;
  bool json = false;
};

int collect(const StudyCollectOptions& options) {
  const study::Folder folder = existing_folder(options.folder);
  const int made = study::slurm::make_missing_records(folder);
  store::Store store(folder.store(), store::Store::Access::write);
  std::vector<std::string> complaints;
  const int taken_in = study::ingest(folder, store, complaints);
  for (const std::string& complaint : complaints) fmt::print(stderr, "trainyard: {}\n", complaint);
  study::Progress progress = study::progress_of(folder);
  study::slurm::note_in_flight(folder, progress);
  if (options.json) {
    auto json = progress_json(progress);
    json["taken_in"] = taken_in;
    json["made_from_states"] = made;
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} runs taken in, {} of them known only from Slurm's states\n", taken_in, made);
    print_progress(progress);
  }
  return 0;
}

}  // namespace

std::function<int()> declare_study_collect(CLI::App& command) {
  const auto options = std::make_shared<StudyCollectOptions>();
  command.add_option("folder", options->folder, "The study's folder")->required()->type_name("DIR");
  command.add_flag("--json", options->json, "One JSON object on standard output");
  command.footer(
      "Runs whose job Slurm ended without a record (time limit, scancel, a failed node) get one that says "
      "so.\n"
      "A job after the last of a study's jobs does this by itself, also when nobody waits for them.\n\n"
      "Examples:\n"
      "  trainyard study collect results/smoke\n"
      "  trainyard study collect results/smoke --json");
  return [options] { return collect(*options); };
}

}  // namespace trainyard::cli
