#include "study/import/psc.h"

#include <cctype>
#include <charconv>

#include "base/device_spec.h"
#include "base/file.h"
#include "study/import/psc_log.h"

namespace trainyard::study {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> count_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool is_date(std::string_view text) {
  return text.size() == 10 && text[4] == '-' && text[7] == '-' && count_of(text.substr(0, 4)) &&
         text.find_first_not_of("0123456789-") == std::string_view::npos;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<PscName> parse_psc_name(std::string_view text) {
  constexpr std::size_t kDateEnd = 10;
  if (text.size() < kDateEnd + 2 || !is_date(text.substr(0, kDateEnd)) || text[kDateEnd] != '-')
    return std::nullopt;
  PscName name;
  name.date = text.substr(0, kDateEnd);
  std::string_view rest = text.substr(kDateEnd + 1);
  name.cpu = take_prefix(rest, "CPU-");
  name.says_gpu = !name.cpu && take_prefix(rest, "GPU-");
  name.separator = rest.find(':') == std::string_view::npos ? '_' : ':';

  const std::vector<std::string_view> parts = split(rest, name.separator);
  const std::size_t counted = name.cpu ? 2 : 1;
  if (parts.size() <= counted || !is_word(parts[0]) || !is_word(parts[counted - 1])) return std::nullopt;
  if (name.cpu) {
    name.partition = parts[0];
    name.model = parts[1];
  } else {
    name.gpu_type = parts[0];
  }
  const auto count = count_of(parts[counted]);
  if (!count) return std::nullopt;
  name.count = *count;
  std::size_t next = counted + 1;
  if (next < parts.size() && (name.batch = count_of(parts[next]))) ++next;
  if (next < parts.size() && (parts[next] == "local" || parts[next] == "scratch"))
    name.staging = parts[next++];
  if (next < parts.size() && !name.cpu && (parts[next] == "PS" || parts[next] == "IN"))
    name.variant = parts[next++];
  if (next != parts.size() || to_text(name) != text) return std::nullopt;
  return name;
}

std::string to_text(const PscName& name) {
  std::string text = name.date + (name.cpu ? "-CPU-" : name.says_gpu ? "-GPU-" : "-");
  const auto add = [&](const auto& part) { text += fmt::format("{}{}", name.separator, part); };
  text += name.cpu ? name.partition : name.gpu_type;
  if (name.cpu) add(name.model);
  add(name.count);
  if (name.batch) add(*name.batch);
  if (!name.staging.empty()) add(name.staging);
  if (!name.variant.empty()) add(name.variant);
  return text;
}

namespace {

using record::RunRecord;

constexpr const char* kTowersDay = "2018-06-22";
constexpr const char* kLastLongDay = "2018-06-14";

// Output is one job: the content of its name and of its output.
struct Output {
  std::string file;
  std::optional<PscName> name;
  PscLog log;

  bool program_is(std::string_view text) const { return log.program.find(text) != std::string::npos; }
  std::string date() const { return name ? name->date : ""; }
  bool cpu() const { return (name && name->cpu) || program_is("CPU_ONLY"); }
  bool towers_on_host() const {
    return name && !name->variant.empty() ? name->variant == "PS" : program_is("_PS");
  }
  bool towers_on_device() const {
    return name && !name->variant.empty() ? name->variant == "IN" : program_is("INDEPENDENT");
  }
  bool towers() const { return towers_on_host() || towers_on_device(); }
  // The first node kept the parameters, and a worker on each of the others sent gradients asynchronously.
  bool several_nodes() const { return log.nodes > 1; }
  bool has_result() const { return log.mean_speed.has_value(); }
  std::string gpu_type() const { return !log.gpu_type.empty() || !name ? log.gpu_type : name->gpu_type; }
  std::int64_t gpus() const { return log.gpus > 0 || !name || name->cpu ? log.gpus : name->count; }
  std::int64_t cores_asked() const {
    if (cpu()) return name && name->cpu ? name->count : log.tasks;
    return log.cpus;
  }
};

// The scripts hard-coded the batch where no argument gave it (specs: 50, then 1024 and 512 for the towers of
// 22 June).
std::int64_t batch_of(const Output& output) {
  const PscLog& log = output.log;
  if (output.name && output.name->batch) return *output.name->batch;
  if (log.batch > 0) return log.batch;
  if (log.mean_speed && log.mean_seconds) return std::llround(*log.mean_speed * *log.mean_seconds);
  if (output.date() == kTowersDay && output.towers()) return output.towers_on_host() ? 1024 : 512;
  return 50;
}

std::int64_t steps_of(const Output& output) {
  if (output.log.steps > 0) return output.log.steps;
  constexpr std::int64_t kStepsOnSeveralNodes = 1'000;
  if (output.several_nodes()) return kStepsOnSeveralNodes;
  return output.date().empty() || output.date() <= kLastLongDay ? 20'000 : 5'000;
}

// Tells whether every accuracy, printed with six digits, is some number of images over `images`.
bool are_shares_of(const std::vector<double>& accuracies, std::int64_t images) {
  return std::all_of(accuracies.begin(), accuracies.end(), [&](double accuracy) {
    const double counted = accuracy * static_cast<double>(images);
    return std::abs(counted - std::round(counted)) <= 1e-6 * static_cast<double>(images);
  });
}

// A step of the towers on devices always took `batch` images a GPU. On the host it did so at first too, as
// the accuracies show, and later divided one batch.
bool is_weak_scaling(const Output& output, std::int64_t batch) {
  const std::int64_t gpus = output.gpus();
  if (!output.towers() || gpus < 2) return false;
  if (output.towers_on_device()) return true;
  const std::vector<double>& accuracies = output.log.training_accuracies;
  if (accuracies.empty()) return output.date() == kTowersDay;
  return !are_shares_of(accuracies, batch) && are_shares_of(accuracies, batch * gpus);
}

record::Settings settings_of(const Output& output, std::int64_t batch, bool weak) {
  const bool local = output.name && !output.name->staging.empty()
                         ? output.name->staging == "local"
                         : output.log.script.find("local") != std::string::npos;
  record::Settings asked{
      {"network", "deepmnist"},
      {"data", "mnist"},
      {"optimizer", "adam"},
      {"batch", batch},
      {"steps", steps_of(output)},
      {"staging", local ? "local" : "in-place"},
      {"device", (output.cpu() ? DeviceSpec::cpu() : DeviceSpec::cuda()).to_string()},
      {"strategy", output.towers_on_host()     ? "towers-host"
                   : output.towers_on_device() ? "towers-device"
                   : output.several_nodes()    ? "asp"
                                               : "single"},
  };
  if (output.several_nodes()) {
    asked["nodes"] = output.log.nodes;
    asked["servers"] = std::int64_t{1};
    asked["devices"] = output.log.nodes - 1;
  }
  if (output.towers() && output.gpus() > 1) asked["scaling"] = weak ? "weak" : "strong";
  if (!output.log.partition.empty()) asked["partition"] = output.log.partition;
  if (!output.gpu_type().empty()) asked["gpu_type"] = output.gpu_type();
  if (output.gpus() > 0) asked["gpus"] = output.gpus();
  if (output.cpu() && output.cores_asked() > 0) asked["tasks_per_node"] = output.cores_asked();
  return asked;
}

record::Provenance provenance_of(const Output& output) {
  const PscLog& log = output.log;
  record::Provenance facts{{"import", "from", std::string("PSC Bridges, DeepMNIST, 2018")},
                           {"import", "file", output.file}};
  const auto word = [&](const char* section, const char* key, const std::string& value) {
    if (!value.empty()) facts.push_back({section, key, value});
  };
  const auto count = [&](const char* section, const char* key, std::int64_t value) {
    if (value > 0) facts.push_back({section, key, value});
  };
  word("cpu", "model", log.cpu_model);
  word("gpu", "model", log.gpu_model);
  word("software", "tensorflow", log.tensorflow);
  word("slurm", "job_id", log.job_id);
  word("slurm", "partition", log.partition);
  word("slurm", "node_list", log.node);
  count("slurm", "cpus", log.cpus);
  count("slurm", "tasks", log.tasks);
  if (output.several_nodes()) count("slurm", "nodes", log.nodes);
  count("slurm", "gpus", log.gpus);
  return facts;
}

// "Intel(R) Xeon(R) CPU E5-2695 v3 @ 2.30GHz" -> "E5-2695-V3", as the names write it.
std::string label_of(const std::string& cpu_model) {
  const std::size_t cpu = cpu_model.find("CPU ");
  if (cpu == std::string::npos) return "";
  std::string label = cpu_model.substr(cpu + 4, cpu_model.find(" @") - cpu - 4);
  for (char& c : label) c = c == ' ' ? '-' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return label;
}

void add_warnings(const Output& output, std::int64_t batch, RunRecord& run) {
  const auto warn = [&](const char* kind, const std::string& text) { run.warnings.push_back({kind, text}); };
  const PscLog& log = output.log;
  const std::string label = output.name ? output.name->model : "", found = label_of(log.cpu_model);
  if (!label.empty() && !found.empty() && label != found)
    warn("label", fmt::format("labelled {}, lscpu found {}", label, found));
  const auto asked = static_cast<double>(output.cores_asked());
  if (const double used = run.figure_or("cores_used", 0); asked > 0 && used > 1.1 * asked + 0.5)
    warn("cores", fmt::format("{:.1f} cores used, {} asked, {} allotted", used, asked, log.cpus));
  if (!output.towers() && !output.several_nodes() && output.gpus() > (output.cpu() ? 0 : 1))
    warn("devices", fmt::format("{} GPUs allotted, {} used", output.gpus(), output.cpu() ? "none" : "one"));
  if (log.mean_speed && run.images_per_second && run.images_per_step > static_cast<double>(batch))
    warn("throughput", fmt::format("printed speed counts {} of {} images a step: {:.1f} printed, {:.1f} real",
                                   batch, run.images_per_step, *log.mean_speed, *run.images_per_second));
  if (log.mean_speed && log.mean_seconds)
    if (const double counted = *log.mean_speed * *log.mean_seconds;
        std::abs(counted - static_cast<double>(batch)) > 0.01 * static_cast<double>(batch))
      warn("batch", fmt::format("batch {} named, speed x time gives {:.1f}", batch, counted));
}

void add_result(const Output& output, std::int64_t batch, bool weak, RunRecord& run) {
  const PscLog& log = output.log;
  const auto towers = static_cast<double>(weak ? output.gpus() : 1);
  run.images_per_step = towers * static_cast<double>(batch);
  run.statistics.legacy = {log.mean_seconds.value_or(0), log.mean_speed.value_or(0),
                           log.speed_uncertainty.value_or(0), log.speed_jitter.value_or(0)};
  run.images_per_second = towers * *log.mean_speed;
  run.figures["mean_step_seconds"] = log.mean_seconds.value_or(static_cast<double>(batch) / *log.mean_speed);
  run.figures["printed_images_per_second"] = *log.mean_speed;
  if (log.test_accuracy) run.figures["test_accuracy"] = *log.test_accuracy;
  if (log.steps > 0) run.figures["images_consumed"] = static_cast<double>(log.steps) * run.images_per_step;
}

void add_failure(const PscLog& log, RunRecord& run) {
  run.status = log.failure == record::Status::ok ? record::Status::failed : log.failure;
  run.reason = log.failure == record::Status::ok ? "no result printed" : log.reason;
  run.exit_code = log.exit_code;
}

RunRecord record_of(const Output& output) {
  const PscLog& log = output.log;
  const std::int64_t batch = batch_of(output);
  const bool weak = is_weak_scaling(output, batch);
  RunRecord run;
  run.id = "psc-" + (log.job_id.empty() ? output.file : log.job_id);
  run.command = "import";
  run.asked = settings_of(output, batch, weak);
  run.node = log.node;
  run.started_seconds = log.started_seconds;
  run.wall_seconds = log.wall_seconds;
  if (run.wall_seconds == 0 && log.cancelled_seconds > log.started_seconds)
    run.wall_seconds = log.cancelled_seconds - log.started_seconds;
  if (log.wall_seconds > 0) {
    run.figures["cpu_seconds"] = log.cpu_seconds;
    run.figures["cores_used"] = log.cpu_seconds / log.wall_seconds;
  }
  if (log.cpus > 0) run.figures["cores_allotted"] = static_cast<double>(log.cpus);
  run.provenance = provenance_of(output);
  if (output.has_result())
    add_result(output, batch, weak, run);
  else
    add_failure(log, run);
  add_warnings(output, batch, run);
  return run;
}

std::vector<std::filesystem::path> files_in(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

RunRecord import_psc_output(const std::string& file_name, std::string_view text) {
  return record_of({file_name, parse_psc_name(file_name), parse_psc_log(text)});
}

std::vector<RunRecord> import_psc(const std::vector<std::filesystem::path>& paths) {
  std::vector<RunRecord> runs;
  std::set<std::string> seen;
  for (const std::filesystem::path& file : files_in(paths)) {
    const std::vector<std::byte> content = read_file(file);
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    if (!parse_psc_name(file.filename().string()) && !is_psc_log(text)) continue;
    RunRecord run = import_psc_output(file.filename(), text);
    if (seen.insert(run.id).second) runs.push_back(std::move(run));
  }
  std::stable_sort(runs.begin(), runs.end(), [](const RunRecord& a, const RunRecord& b) {
    return a.started_seconds < b.started_seconds;
  });
  std::map<std::string, int> replicates;
  for (RunRecord& run : runs) run.replicate = ++replicates[record::to_text(run.asked)];
  return runs;
}

}  // namespace trainyard::study
