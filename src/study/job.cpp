#include "study/job.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest_name.h"
#include "meter/build_info.h"
#include "record/build.h"
#include "study/known_settings.h"
#include "study/places.h"

namespace trainyard::study {
namespace {

// Places that every run has besides its settings: what it is called, and paths that its launcher fills in.
constexpr const char *kRun = "run", *kCell = "cell", *kReplicate = "replicate", *kAttempt = "attempt",
                     *kStudy = "study", *kRecord = "record", *kFolder = "folder";
constexpr std::array kRunPlaces{kRun, kCell, kReplicate, kAttempt, kStudy, kRecord, kFolder};

// Fills in what is known before the run has a machine. A setting is before a name of the run.
class Places {
 public:
  explicit Places(const Job& job)
      : settings_(job.settings),
        own_{{kRun, job.run_id},
             {kCell, job.cell},
             {kStudy, job.study},
             {kReplicate, std::to_string(job.replicate)},
             {kAttempt, std::to_string(job.attempt)}} {}

  std::string fill(const std::string& text) const {
    return fill_places(text, [this](const std::string& name) -> std::optional<std::string> {
      if (const auto setting = settings_.find(name); setting != settings_.end())
        return record::to_text(setting->second);
      if (const auto own = own_.find(name); own != own_.end()) return own->second;
      return std::nullopt;
    });
  }
  Command fill(const Command& words) const {
    Command filled;
    for (const std::string& word : words) filled.push_back(fill(word));
    return filled;
  }

 private:
  const record::Settings& settings_;
  std::map<std::string, std::string> own_;
};

// No two runs leave anything in one place: what does not name the run gets its name, and lies in the study's
// folder unless the path is absolute.
std::string output_path(const KnownSetting& setting, const std::string& path) {
  const std::string ending = std::string_view(setting.name) == "trace" ? ".json" : "";
  const std::vector<std::string> places = places_in(path);
  const bool names_run = std::find(places.begin(), places.end(), kRun) != places.end();
  const std::string whole = names_run ? path : fmt::format("{}/{{run}}{}", path, ending);
  return whole.starts_with('/') || whole.starts_with("{folder}") ? whole : "{folder}/" + whole;
}

// Whether a run's workers are to be started on every node that its job is given.
bool spreads_over_nodes(const Job& job) {
  return (job.kind == "train" || job.kind == "ensemble") && job.resources.nodes > 1 &&
         !job.settings.contains("hosts");
}

Command command_of(const Spec& spec, Job& job, const std::filesystem::path& trainyard) {
  const Places places(job);
  if (spec.run == "program") return places.fill(spec.program);
  Command command{trainyard.string(), spec.run};
  if (spec.run == "ensemble") command.emplace_back("run");
  command.emplace_back("--quiet");
  const auto add_output = [&](const KnownSetting& setting, const std::string& path) {
    job.outputs.push_back(places.fill(output_path(setting, path)));
    command.push_back(fmt::format("{}={}", setting.option, job.outputs.back()));
  };
  for (const auto& [name, value] : job.settings) {
    const KnownSetting* known = find_known_setting(name, spec.run);
    TRAINYARD_CHECK(known != nullptr);  // the spec was checked
    if (known->is_resource()) continue;
    if (known->form == KnownSetting::Form::output) {
      add_output(*known, record::to_text(value));
    } else if (const bool* truth = std::get_if<bool>(&value)) {
      if (*truth) command.emplace_back(known->option);
    } else {
      command.push_back(fmt::format("{}={}", known->option, record::to_text(value)));
    }
  }
  if (spreads_over_nodes(job)) {
    command.emplace_back("--hosts=slurm");
    // Members of an ensemble meet in a folder that all nodes see.
    if (spec.run == "ensemble" && !job.settings.contains("out"))
      add_output(*find_known_setting("out", spec.run), "ensembles");
  }
  command.emplace_back("--record={record}");
  return command;
}

Resources resources_of(const Spec& spec, const record::Settings& settings) {
  const auto word = [&](const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? "" : record::to_text(found->second);
  };
  const auto count = [&](const char* name, int otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise
                                   : static_cast<int>(record::number_or(found->second, otherwise));
  };
  // Devices on GPUs are what the job needs there, unless the study says otherwise.
  const int devices = word("device").starts_with("cuda") ? count("devices", 1)
                      : word("gpu_type").empty()         ? 0
                                                         : 1;
  // Ranks of an all-reduce share the run's threads over its nodes; a server's workers have them on each.
  const int nodes = count("nodes", 1), sharers = word("strategy") == "allreduce" ? nodes : 1,
            threads = (count("threads", 0) + sharers - 1) / sharers;
  constexpr std::int64_t kMebibyte = 1024 * 1024;
  return {.partition = word("partition"),
          .account = word("account"),
          .constraint = word("constraint"),
          .nodes = nodes,
          .tasks_per_node = count("tasks_per_node", 1),
          .cpus_per_task = count("cpus_per_task", threads),
          .gpu_type = word("gpu_type"),
          .gpus_per_node = count("gpus", devices),
          .memory_bytes = count("memory_mib", 0) * kMebibyte,
          .extra = spec.sbatch};
}

}  // namespace

std::string complaint_about_places(const Spec& spec, const record::Settings& settings) {
  const auto complaint = [&](const std::string& text, const char* where) -> std::string {
    for (const std::string& place : places_in(text)) {
      if (settings.contains(place) ||
          std::find(kRunPlaces.begin(), kRunPlaces.end(), place) != kRunPlaces.end())
        continue;
      std::vector<std::string> known(kRunPlaces.begin(), kRunPlaces.end());
      for (const auto& [name, value] : settings) known.push_back(name);
      return fmt::format("{}: no setting or axis '{}' for {{{}}}{}; {{{{{}}}}} is the text itself", where,
                         place, place, did_you_mean(place, known), place);
    }
    return "";
  };
  std::vector<std::pair<std::string, const char*>> texts;
  for (const std::string& word : spec.program) texts.emplace_back(word, "program");
  for (const auto& [name, value] : spec.environment) texts.emplace_back(value, "environment");
  for (const Command& command : spec.setup)
    for (const std::string& word : command) texts.emplace_back(word, "setup");
  for (const Command& command : spec.cleanup)
    for (const std::string& word : command) texts.emplace_back(word, "cleanup");
  for (const char* output : {"out", "trace"})
    if (const auto path = settings.find(output); spec.run != "program" && path != settings.end())
      texts.emplace_back(record::to_text(path->second), output);
  for (const auto& [text, where] : texts)
    if (std::string found = complaint(text, where); !found.empty()) return found;
  return "";
}

Job make_job(const Spec& spec, const store::PlannedRun& run, int attempt,
             const std::filesystem::path& trainyard) {
  Job job;
  job.run_id = fmt::format("{}-r{}-a{}", run.cell, run.replicate, attempt);
  job.study = spec.name;
  job.build = spec.build;
  job.cell = run.cell;
  job.replicate = run.replicate;
  job.attempt = attempt;
  job.settings = run.settings;
  job.kind = spec.run;
  job.resources = resources_of(spec, run.settings);
  job.command = command_of(spec, job, trainyard);
  const Places places(job);
  for (const auto& [name, value] : spec.environment) job.environment[name] = places.fill(value);
  for (const Command& command : spec.setup) job.setup.push_back(places.fill(command));
  for (const Command& command : spec.cleanup) job.cleanup.push_back(places.fill(command));
  job.setup_limit_seconds = spec.setup_limit_seconds;
  job.cleanup_limit_seconds = spec.cleanup_limit_seconds;
  job.time_limit_seconds = spec.time_limit_seconds;
  job.memory_limit_bytes = spec.memory_limit_bytes;
  job.wait_for_quiet_seconds = spec.wait_for_quiet_seconds;
  job.pin_clocks = spec.pin_clocks;
  return job;
}

void identify(record::RunRecord& run, const Job& job) {
  run.id = job.run_id;
  run.study = job.study;
  run.cell = job.cell;
  run.replicate = job.replicate;
  run.attempt = job.attempt;
  run.command = job.kind;
  run.asked = job.settings;
  if (!job.build.empty())
    run.words["build"] = job.build;
  else if (job.kind != "program" && record::build_of(run).empty())
    run.words["build"] = meter::build_id();
}

}  // namespace trainyard::study
