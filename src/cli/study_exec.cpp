#include <memory>

#include "cli/study_commands.h"
#include "study/slurm/node_task.h"

namespace trainyard::cli {

std::function<int()> declare_study_exec(CLI::App& command) {
  struct Options {
    std::filesystem::path folder;
    std::string submission;
    int task = 0;
  };
  const auto options = std::make_shared<Options>();
  command.group("");  // for job scripts, not for people
  command.add_option("folder", options->folder, "The study's folder")->required()->type_name("DIR");
  command.add_option("submission", options->submission, "Name of the array of jobs")->required();
  command.add_option("task", options->task, "Its number in the array")->required();
  return [options] { return study::slurm::run_task({options->folder}, options->submission, options->task); };
}

}  // namespace trainyard::cli
