#include "study/spec/job.h"

#include "base/json.h"
#include "base/text.h"
#include "meter/provenance.h"
#include "record/build.h"
#include "study/spec/file_networks.h"
#include "study/spec/known_settings.h"
#include "study/spec/places.h"

namespace trainyard::study {

namespace {

// Every run has these places besides its settings: its name, and paths that its launcher fills in.
constexpr const char *kRun = "run", *kCell = "cell", *kReplicate = "replicate", *kAttempt = "attempt",
                     *kStudy = "study", *kRecord = "record", *kFolder = "folder";
constexpr std::array kRunPlaces{kRun, kCell, kReplicate, kAttempt, kStudy, kRecord, kFolder};

// Places fills in the values that are known before the run has a machine. A setting takes precedence over a
// name of the run.
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

// No two runs write to one place: a path that does not name the run gets its name, and lies in the study's
// folder unless it is absolute.
std::string output_path(const record::SettingInfo& setting, const std::string& path) {
  const std::string ending = setting.name == "trace" ? ".json" : "";
  const std::vector<std::string> places = places_in(path);
  const bool names_run = std::find(places.begin(), places.end(), kRun) != places.end();
  const std::string whole = names_run ? path : fmt::format("{}/{{run}}{}", path, ending);
  return whole.starts_with('/') || whole.starts_with("{folder}") ? whole : "{folder}/" + whole;
}

// Tells whether a run's workers must be started on every node of its job.
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
  const auto add_output = [&](const record::SettingInfo& setting, const std::string& path) {
    job.outputs.push_back(places.fill(output_path(setting, path)));
    command.push_back(fmt::format("{}={}", setting.option(), job.outputs.back()));
  };
  for (const auto& [name, value] : with_network_path(spec, job.settings)) {
    const record::SettingInfo* known = find_known_setting(name, spec.run);
    TRAINYARD_CHECK(known != nullptr);  // the spec was checked
    if (known->is_resource()) continue;
    if (known->form == record::SettingInfo::Form::output) {
      add_output(*known, record::to_text(value));
    } else if (const bool* truth = std::get_if<bool>(&value)) {
      if (*truth) command.emplace_back(known->option());
    } else {
      command.push_back(fmt::format("{}={}", known->option(), record::to_text(value)));
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
  // A run on GPUs needs as many GPUs as devices, unless the study says otherwise.
  const int devices = names_gpu(word("device")) ? count("devices", 1) : word("gpu_type").empty() ? 0 : 1;
  // Ranks of an all-reduce divide the run's threads over its nodes; a server's workers have all of them on
  // each.
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
  // The run was given the path of a network's file; its name is the one that the study has.
  if (const auto network = job.settings.find("network");
      network != job.settings.end() && run.words.contains("network"))
    run.words["network"] = record::to_text(network->second);
  if (!job.build.empty())
    run.words["build"] = job.build;
  else if (job.kind != "program" && record::build_of(run).empty())
    run.words["build"] = meter::build_id();
}

namespace {}  // namespace

std::string to_json(const Job& job) {
  const Resources& resources = job.resources;
  const Json json = {{"run_id", job.run_id},
                     {"study", job.study},
                     {"cell", job.cell},
                     {"build", job.build},
                     {"replicate", job.replicate},
                     {"attempt", job.attempt},
                     {"settings", parse_json(record::to_json(job.settings))},
                     {"lane", job.lane},
                     {"kind", job.kind},
                     {"command", job.command},
                     {"setup", job.setup},
                     {"cleanup", job.cleanup},
                     {"setup_limit_seconds", job.setup_limit_seconds},
                     {"cleanup_limit_seconds", job.cleanup_limit_seconds},
                     {"outputs", job.outputs},
                     {"environment", job.environment},
                     {"time_limit_seconds", job.time_limit_seconds},
                     {"memory_limit_bytes", job.memory_limit_bytes},
                     {"wait_for_quiet_seconds", job.wait_for_quiet_seconds},
                     {"pin_clocks", job.pin_clocks},
                     {"grace_seconds", job.grace_seconds},
                     {"resources",
                      {{"partition", resources.partition},
                       {"account", resources.account},
                       {"constraint", resources.constraint},
                       {"nodes", resources.nodes},
                       {"tasks_per_node", resources.tasks_per_node},
                       {"cpus_per_task", resources.cpus_per_task},
                       {"gpu_type", resources.gpu_type},
                       {"gpus_per_node", resources.gpus_per_node},
                       {"memory_bytes", resources.memory_bytes},
                       {"extra", resources.extra}}}};
  return json_text(json, 2);
}

Job job_from_json(const std::string& text) {
  try {
    const Json json = parse_json(text);
    Job job;
    json.at("run_id").get_to(job.run_id);
    json.at("study").get_to(job.study);
    json.at("cell").get_to(job.cell);
    json.at("replicate").get_to(job.replicate);
    json.at("attempt").get_to(job.attempt);
    job.settings = record::settings_from_json(json_text(json.at("settings")));
    // Older files have none of these.
    job.build = json.value("build", "");
    job.lane = json.value("lane", "");
    job.setup = json.value("setup", std::vector<Command>());
    job.cleanup = json.value("cleanup", std::vector<Command>());
    job.setup_limit_seconds = json.value("setup_limit_seconds", kSideLimitSeconds);
    job.cleanup_limit_seconds = json.value("cleanup_limit_seconds", kSideLimitSeconds);
    job.outputs = json.value("outputs", std::vector<std::string>());
    job.wait_for_quiet_seconds = json.value("wait_for_quiet_seconds", 0.0);
    job.pin_clocks = json.value("pin_clocks", false);
    job.grace_seconds = json.value("grace_seconds", 0.0);
    json.at("kind").get_to(job.kind);
    json.at("command").get_to(job.command);
    json.at("environment").get_to(job.environment);
    json.at("time_limit_seconds").get_to(job.time_limit_seconds);
    json.at("memory_limit_bytes").get_to(job.memory_limit_bytes);
    const Json& resources = json.at("resources");
    resources.at("partition").get_to(job.resources.partition);
    resources.at("account").get_to(job.resources.account);
    resources.at("constraint").get_to(job.resources.constraint);
    resources.at("nodes").get_to(job.resources.nodes);
    resources.at("tasks_per_node").get_to(job.resources.tasks_per_node);
    resources.at("cpus_per_task").get_to(job.resources.cpus_per_task);
    resources.at("gpu_type").get_to(job.resources.gpu_type);
    resources.at("gpus_per_node").get_to(job.resources.gpus_per_node);
    resources.at("memory_bytes").get_to(job.resources.memory_bytes);
    resources.at("extra").get_to(job.resources.extra);
    return job;
  } catch (const Json::Error& error) {
    fail(ErrorKind::config, "job file: {}", error.what());
  }
}

}  // namespace trainyard::study
