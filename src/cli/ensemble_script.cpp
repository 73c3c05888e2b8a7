#include "base/text.h"
#include "cli/commands.h"
#include "cli/ensemble.h"
#include "cli/option_checks.h"

namespace trainyard::cli {
namespace {

struct ScriptOptions {
  std::filesystem::path file;
  std::string cluster = "slurm", design, time = "01:00:00", out;
  int members = 0, preprocessors = 0, cores = 1, gpus = 0;
};

// Words in quotes, as a shell takes them.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::string command_line(const ScriptOptions& options, const ensemble::EnsembleSpec& spec) {
  std::string words = fmt::format("trainyard ensemble run {} --out {} --threads {}",
                                  quoted(std::filesystem::absolute(options.file).string()),
                                  quoted(std::filesystem::absolute(options.out).string()), options.cores);
  if (!options.design.empty()) words += " --design " + options.design;
  if (options.members > 0) words += fmt::format(" --members {}", options.members);
  if (options.preprocessors > 0) words += fmt::format(" --preprocessors {}", spec.preprocessors);
  return words;
}

int print_script(const ScriptOptions& options) {
  want_one_of("cluster", options.cluster, {"slurm", "pbs"});
  ensemble::EnsembleOptions asked;
  asked.file = options.file;
  asked.design = options.design;
  asked.members = options.members;
  asked.preprocessors = options.preprocessors;
  const ensemble::EnsembleSpec spec = to_ensemble(asked);
  if (spec.name.find('\n') != std::string::npos)
    fail(ErrorKind::config, "the ensemble's name has a line break; a batch script needs a name on one line");
  const bool here = spec.design == ensemble::Design::shared_memory;
  // Members that share memory are of one machine, and start each other.
  const std::size_t members = spec.members.size(), ranks = here ? 1 : members;
  const std::size_t cores = here ? static_cast<std::size_t>(options.cores) * (members + 1)
                                 : static_cast<std::size_t>(options.cores);
  const std::string line = command_line(options, spec);
  fmt::print("#!/bin/bash\n");
  if (options.cluster == "slurm") {
    fmt::print("#SBATCH --job-name={}\n#SBATCH --ntasks={}\n#SBATCH --cpus-per-task={}\n#SBATCH --time={}\n",
               quoted(spec.name), ranks, cores, options.time);
    if (here) fmt::print("#SBATCH --nodes=1\n");
    if (options.gpus > 0) fmt::print("#SBATCH --gpus-per-task={}\n", options.gpus);
    fmt::print("set -e\n{}{}\n", here ? "" : "srun --mpi=pmix ", line);
  } else {
    fmt::print("#PBS -N {}\n#PBS -l select={}:ncpus={}:mpiprocs=1{}\n#PBS -l walltime={}\n",
               quoted(spec.name), ranks, cores,
               options.gpus > 0 ? fmt::format(":ngpus={}", options.gpus) : "", options.time);
    fmt::print("set -e\ncd \"$PBS_O_WORKDIR\"\n{}{}\n",
               here ? "" : fmt::format("mpirun -n {} --bind-to none ", ranks), line);
  }
  return 0;
}

// It goes into the script as it is: the forms of Slurm, of which PBS takes those with hours, minutes and
// seconds.
Check time_limit() {
  return {[](const std::string& given) -> std::string {
            static const Pattern kForm(R"(\d{1,6}(:[0-5]\d){0,2}|\d{1,3}-\d{1,2}(:[0-5]\d){0,2})");
            const bool some = given.find_first_of("123456789") != std::string::npos;
            if (some && !kForm.match(given).empty()) return "";
            return fmt::format(
                "'{}' given, a time expected: hours, minutes and seconds, such as 01:30:00, or with slurm "
                "minutes",
                given);
          },
          ""};
}

}  // namespace

std::function<int()> declare_ensemble_script(Command& command) {
  const auto options = std::make_shared<ScriptOptions>();
  command.add_option("file", options->file, "YAML file of the ensemble")->required()->type_name("FILE");
  command.add_option("--out", options->out, "Folder for what the run leaves, seen by all nodes")
      ->required()
      ->type_name("DIR");
  command.add_option("--cluster", options->cluster, "slurm or pbs")->capture_default_str();
  command.add_option("--design", options->design, "Instead of the file's");
  command.add_option("--members", options->members, "Instead of the file's")->transform(within("members"));
  command.add_option("--preprocessors", options->preprocessors, "Instead of the file's")
      ->transform(within("preprocessors"));
  command.add_option("--cores", options->cores, "Cores of each member")
      ->transform(within("cores"))
      ->capture_default_str();
  command.add_option("--gpus", options->gpus, "GPUs of each member")
      ->transform(within(record::NumberRange::whole(0, 1'000'000)))
      ->capture_default_str();
  command.add_option("--time", options->time, "Time limit")
      ->check(time_limit())
      ->type_name("[DAYS-]HH:MM:SS")
      ->capture_default_str();
  command.footer(
      "Prints a job script: a rank for each member, or one task on one node where they share memory.\n\n"
      "Examples:\n"
      "  trainyard ensemble script studies/ensemble-cifar10.yaml --design all-shared --out runs/four\n"
      "  trainyard ensemble script studies/ensemble-cifar10.yaml --cluster pbs --out runs/four --cores 8");
  return [options] { return print_script(*options); };
}

}  // namespace trainyard::cli
