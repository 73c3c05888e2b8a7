#include "record/envelope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "record/steady_state.h"

namespace trainyard::record {
namespace {

constexpr std::array kNoPart = {"account",    "constraint",     "epochs",  "from",        "max_seconds",
                                "memory_mib", "no_eval",        "no_peak", "ops",         "partition",
                                "seed",       "staging_folder", "steps",   "until_width", "warmup"};

// Settings that a record also has as results: what really ran.
constexpr std::array kAsItRan = {"backend", "batch",     "data",      "device",  "devices",
                                 "network", "optimizer", "precision", "read",    "scaling",
                                 "servers", "staging",   "strategy",  "threads", "transport"};

struct FactName {
  const char *section, *key;
};

constexpr std::array kExplaining = {
    FactName{"build", "commit"},     FactName{"build", "compiler"}, FactName{"build", "flags"},
    FactName{"build", "version"},    FactName{"cpu", "model"},      FactName{"cpu", "allowed_cores"},
    FactName{"gpu", "driver"},       FactName{"gpu0", "name"},      FactName{"libraries", "onednn"},
    FactName{"libraries", "openmp"}, FactName{"system", "kernel"}};

// Those that have a speed: a record may hold steps that are not known.
std::vector<double> timed_steps(const RunRecord& run) {
  std::vector<double> seconds;
  if (run.images_per_step > 0)
    std::copy_if(run.step_seconds.begin(), run.step_seconds.end(), std::back_inserter(seconds),
                 [](double step) { return std::isfinite(step) && step > 0; });
  return seconds;
}

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
  for (const char* name : kAsItRan) {
    if (const auto word = run.words.find(name); word != run.words.end()) result[name] = word->second;
    const auto figure = run.figures.find(name);
    if (figure == run.figures.end() || !std::isfinite(figure->second)) continue;
    const bool whole = figure->second == std::floor(figure->second);
    result[name] = whole ? Value(static_cast<std::int64_t>(figure->second)) : Value(figure->second);
  }
  for (const char* name : kNoPart) result.erase(name);
  if (!run.command.empty()) result["command"] = run.command;
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

bool has_speed(const RunRecord& run) {
  return run.status == Status::ok && (!timed_steps(run).empty() || run.images_per_second.value_or(0) > 0);
}

MeasuredRun measured(const RunRecord& run) {
  const std::vector<double> seconds = timed_steps(run);
  if (seconds.empty()) return {run.node, {*run.images_per_second}};
  MeasuredRun result{run.node, {}};
  const auto warmup = static_cast<std::size_t>(find_steady_state(seconds).unsteady_steps);
  for (const double step : std::span(seconds).subspan(warmup))
    result.speeds.push_back(run.images_per_step / step);
  return result;
}

}  // namespace trainyard::record
