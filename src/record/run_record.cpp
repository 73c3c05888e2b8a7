#include "record/run_record.h"

#include "base/text.h"
#include "record/build.h"
#include "record/settings.h"

namespace trainyard::record {

const Value* find_fact(const Provenance& facts, const std::string& section, const std::string& key) {
  for (const Fact& fact : facts)
    if (fact.section == section && fact.key == key) return &fact.value;
  return nullptr;
}

namespace {

struct Row {
  Status status;
  const char* name;
};

constexpr std::array<Row, 10> kStatuses{{{Status::ok, "ok"},
                                         {Status::failed, "failed"},
                                         {Status::nan, "nan"},
                                         {Status::diverged, "diverged"},
                                         {Status::oom, "oom"},
                                         {Status::timeout, "timeout"},
                                         {Status::crash, "crash"},
                                         {Status::refused, "refused"},
                                         {Status::cancelled, "cancelled"},
                                         {Status::interrupted, "interrupted"}}};

}  // namespace

const char* name(Status status) { return kStatuses[static_cast<std::size_t>(status)].name; }

std::optional<Status> find_status(std::string_view name) {
  for (const Row& row : kStatuses)
    if (row.name == name) return row.status;
  return std::nullopt;
}

void summarise_steps(RunRecord& run) {
  run.statistics = describe_steps(run.step_seconds, run.images_per_step);
  if (run.statistics.steps == 0) return;
  run.images_per_second = run.images_per_step / run.statistics.mean;
  run.figures["median_images_per_second"] = run.images_per_step / run.statistics.median;
}

double RunRecord::any_figure_or(const std::string& name, double otherwise) const {
  const auto found = figures.any().find(name);
  return found == figures.end() ? otherwise : found->second;
}

std::string peak_memory_text(const RunRecord& run) {
  const auto bytes = [&](NumberName figure) {
    return format_bytes(static_cast<std::int64_t>(run.figure_or(figure, 0)));
  };
  const std::string host = bytes("peak_memory_bytes");
  const auto backend = run.words.find("backend");
  if (backend == run.words.end() || backend->second != "cuda") return host;
  const bool known = run.figures.contains("device_memory_bytes");
  return fmt::format("{} of the GPU, {} of the host", known ? bytes("device_memory_bytes") : "not known",
                     host);
}

namespace {

struct FactName {
  const char *section, *key;
};

constexpr std::array kExplaining = {
    FactName{"build", "commit"},     FactName{"build", "compiler"}, FactName{"build", "flags"},
    FactName{"build", "version"},    FactName{"cpu", "model"},      FactName{"cpu", "allowed_cores"},
    FactName{"gpu", "driver"},       FactName{"gpu0", "name"},      FactName{"libraries", "onednn"},
    FactName{"libraries", "openmp"}, FactName{"system", "kernel"}};

std::string fact_values(std::span<const RunRecord> runs, const FactName& name) {
  std::set<std::string> values;
  for (const RunRecord& run : runs)
    if (const Value* value = find_fact(run.provenance, name.section, name.key))
      values.insert(to_text(*value));
  return joined(values, ", ");
}

}  // namespace

Settings envelope(const RunRecord& run) {
  Settings result = run.asked;
  for (const SettingInfo& setting : all_settings()) {
    if (!setting.as_it_ran) continue;
    const std::string& name = setting.name;
    if (const auto word = run.words.any().find(name); word != run.words.end()) result[name] = word->second;
    const auto figure = run.figures.any().find(name);
    if (figure == run.figures.end() || !std::isfinite(figure->second)) continue;
    const bool whole = figure->second == std::floor(figure->second);
    result[name] = whole ? Value(static_cast<std::int64_t>(figure->second)) : Value(figure->second);
  }
  std::erase_if(result, [](const auto& setting) { return !is_compared(setting.first); });
  if (!run.command.empty()) result["command"] = run.command;
  if (std::string build = build_of(run); !build.empty()) result["build"] = std::move(build);
  return result;
}

std::vector<SettingDifference> differences(const Settings& a, const Settings& b) {
  std::set<std::string> names;
  for (const Settings* side : {&a, &b})
    for (const auto& [name, value] : *side) names.insert(name);
  const auto text = [](const Settings& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? "" : to_text(found->second);
  };
  std::vector<SettingDifference> result;
  for (const std::string& name : names)
    if (text(a, name) != text(b, name)) result.push_back({name, text(a, name), text(b, name)});
  return result;
}

std::vector<SettingDifference> fact_differences(std::span<const RunRecord> a, std::span<const RunRecord> b) {
  std::vector<SettingDifference> result;
  for (const FactName& name : kExplaining) {
    const std::string values_a = fact_values(a, name), values_b = fact_values(b, name);
    if (values_a != values_b)
      result.push_back({fmt::format("{}.{}", name.section, name.key), values_a, values_b});
  }
  return result;
}

namespace {

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::string without_our_name(const std::string& line) {
  constexpr std::string_view kPrefix = "trainyard: ";
  return line.starts_with(kPrefix) ? line.substr(kPrefix.size()) : line;
}

EndStatus status_of_signal(const process::ChildEnd& end, const std::string& last_line,
                           long out_of_memory_kills) {
  if (end.signal == SIGKILL && out_of_memory_kills > 0)
    return {Status::oom, fmt::format("killed by the kernel for want of memory, at {} resident",
                                     format_bytes(end.peak_resident_bytes))};
  if (has(last_line, "std::bad_alloc")) return {Status::oom, "out of memory: std::bad_alloc"};
  return {Status::crash, fmt::format("ended by signal {} ({}){}{}", end.signal, ::strsignal(end.signal),
                                     last_line.empty() ? "" : ": ", last_line)};
}

// Our own commands tell in their exit code who must act, and in one line what happened.
EndStatus status_of_exit(int code, const std::string& kind, const std::string& last_line) {
  const std::string said = without_our_name(last_line);
  if (kind != "program") {
    if (has(last_line, "out of memory")) return {Status::oom, said};
    if (says_not_a_number(last_line)) return {Status::nan, said};
    if (has(last_line, "loss diverged")) return {Status::diverged, said};
    if (code == 1) return {Status::refused, said};
    if (code == 130) return {Status::interrupted, said};
  }
  return {Status::failed, fmt::format("exit code {}{}{}", code, said.empty() ? "" : ": ", said)};
}

}  // namespace

bool says_not_a_number(const std::string& line) {
  return has(line, "loss became") || has(line, "is not finite");
}

EndStatus status_of_end(const process::ChildEnd& end, const std::string& kind, const std::string& last_line,
                        long out_of_memory_kills) {
  if (end.start_errno != 0)
    return {Status::refused, fmt::format("cannot be started: {}", std::strerror(end.start_errno))};
  if (end.timed_out)
    return {Status::timeout,
            fmt::format("killed at its time limit, after {}", format_seconds(end.wall_seconds))};
  if (end.over_memory_bytes > 0)
    return {Status::oom,
            fmt::format("killed at its memory limit of {}: its processes held {}",
                        format_bytes(end.memory_limit_bytes), format_bytes(end.over_memory_bytes))};
  if (end.stopped) return {Status::interrupted, "the study was interrupted"};
  if (end.signal != 0) return status_of_signal(end, last_line, out_of_memory_kills);
  if (end.exit_code != 0) return status_of_exit(end.exit_code, kind, last_line);
  return {};
}

}  // namespace trainyard::record
