#include "record/run_record.h"

#include <array>
#include <cmath>
#include <set>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/units.h"
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
  return fmt::format("{}", fmt::join(values, ", "));
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

}  // namespace trainyard::record
