#include "study/job.h"

#include <fmt/format.h>

#include "base/error.h"
#include "study/known_settings.h"

namespace trainyard::study {
namespace {

// "{batch}" becomes the setting's value; braces with any other word stay: "{record}" is the launcher's.
std::string filled_in(std::string text, const record::Settings& settings) {
  for (const auto& [name, value] : settings) {
    const std::string place = "{" + name + "}", content = record::to_text(value);
    for (std::size_t at = text.find(place); at != std::string::npos;
         at = text.find(place, at + content.size()))
      text.replace(at, place.size(), content);
  }
  return text;
}

std::vector<std::string> command_of(const Spec& spec, const record::Settings& settings,
                                    const std::filesystem::path& trainyard) {
  std::vector<std::string> command;
  if (spec.run == "program") {
    for (const std::string& word : spec.program) command.push_back(filled_in(word, settings));
    return command;
  }
  command = {trainyard.string(), spec.run};
  if (spec.run == "ensemble") command.emplace_back("run");
  command.emplace_back("--quiet");
  for (const auto& [name, value] : settings) {
    const KnownSetting* known = find_known_setting(name, spec.run);
    TRAINYARD_CHECK(known != nullptr);  // the spec was checked
    if (known->is_resource()) continue;
    if (const bool* truth = std::get_if<bool>(&value)) {
      if (*truth) command.emplace_back(known->option);
    } else {
      command.push_back(fmt::format("{}={}", known->option, record::to_text(value)));
    }
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
  constexpr std::int64_t kMebibyte = 1024 * 1024;
  return {.partition = word("partition"),
          .account = word("account"),
          .constraint = word("constraint"),
          .nodes = count("nodes", 1),
          .tasks_per_node = count("tasks_per_node", 1),
          .cpus_per_task = count("cpus_per_task", count("threads", 0)),
          .gpu_type = word("gpu_type"),
          .gpus_per_node = count("gpus", devices),
          .memory_bytes = count("memory_mib", 0) * kMebibyte,
          .extra = spec.sbatch};
}

}  // namespace

Job make_job(const Spec& spec, const store::PlannedRun& run, int attempt,
             const std::filesystem::path& trainyard) {
  Job job;
  job.run_id = fmt::format("{}-r{}-a{}", run.cell, run.replicate, attempt);
  job.study = spec.name;
  job.cell = run.cell;
  job.replicate = run.replicate;
  job.attempt = attempt;
  job.settings = run.settings;
  job.kind = spec.run;
  job.command = command_of(spec, run.settings, trainyard);
  for (const auto& [name, value] : spec.environment) job.environment[name] = filled_in(value, run.settings);
  job.time_limit_seconds = spec.time_limit_seconds;
  job.memory_limit_bytes = spec.memory_limit_bytes;
  job.resources = resources_of(spec, run.settings);
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
}

}  // namespace trainyard::study
