#include "record/references.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "record/build.h"
#include "record/run_record.h"

namespace trainyard::record {
namespace {

constexpr const char* kSecondsToAccuracy = "seconds_to_accuracy";

// A gate may ask for these metrics later: speed with and without stalls, step times, and the cost of runs.
constexpr std::array kKeptMetrics = {kQuietSpeed,        "images_per_second", "median_step_seconds",
                                     "p95_step_seconds", "wall_seconds",      "peak_memory_bytes",
                                     "energy_joules",    "test_accuracy"};

// Returns the metric that a name in a file stands for.
Metric metric_named(const std::string& name) {
  Metric metric{.name = name};
  if (const auto at = name.find('('); name.starts_with(kSecondsToAccuracy) && at != std::string::npos) {
    metric.name = kSecondsToAccuracy;
    metric.accuracy = number_or(to_value(std::string_view(name).substr(at + 1, name.size() - at - 2)), 1);
  }
  return metric;
}

Settings settings_of_cell(const RunRecord& run) {
  Settings settings = envelope(run);
  settings.erase("build");
  return settings;
}

ReferenceCell cell_of(const Settings& settings, std::span<const RunRecord* const> runs,
                      const std::set<std::string>& names) {
  ReferenceCell cell{settings, {}};
  for (const std::string& name : names) {
    std::vector<double> values;
    for (const RunRecord* run : runs) {
      const auto measured = measure(*run, metric_named(name));
      values.push_back(measured ? measured->value : std::numeric_limits<double>::quiet_NaN());
    }
    const bool any = std::any_of(values.begin(), values.end(), [](double value) { return value > 0; });
    if (any) cell.values[name] = std::move(values);
  }
  return cell;
}

std::string day_of(double seconds_since_1970) {
  if (!(seconds_since_1970 > 0 && seconds_since_1970 < 1e11)) return "";
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(seconds_since_1970)));
}

MachineReferences& machine_row(References& references, const std::string& machine) {
  for (MachineReferences& row : references.machines)
    if (row.machine == machine) return row;
  references.machines.push_back({machine, "", "", {}});
  return references.machines.back();
}

// Compares as comparisons do: 2 and 2.0 are equal.
ReferenceCell* find_cell(MachineReferences& references, const Settings& settings) {
  const auto found =
      std::find_if(references.cells.begin(), references.cells.end(),
                   [&](const ReferenceCell& cell) { return differences(cell.settings, settings).empty(); });
  return found == references.cells.end() ? nullptr : &*found;
}

ReferenceUpdate update_machine(MachineReferences& references, std::span<const RunRecord* const> runs,
                               std::set<std::string> names) {
  ReferenceUpdate update{references.machine};
  names.merge(references.metrics());
  std::map<Settings, std::vector<const RunRecord*>> by_cell;
  double last_seconds = 0;
  for (const RunRecord* run : runs) {
    by_cell[settings_of_cell(*run)].push_back(run);
    if (run->started_seconds < last_seconds) continue;
    last_seconds = run->started_seconds;
    references.build = build_of(*run);
  }
  references.measured = day_of(last_seconds);
  for (const auto& [settings, of_cell] : by_cell) {
    ReferenceCell now = cell_of(settings, of_cell, names);
    if (now.values.empty()) continue;
    update.runs += static_cast<int>(of_cell.size());
    if (ReferenceCell* before = find_cell(references, settings)) {
      before->values = std::move(now.values);
      ++update.replaced;
    } else {
      references.cells.push_back(std::move(now));
      ++update.added;
    }
  }
  std::sort(references.cells.begin(), references.cells.end(),
            [](const ReferenceCell& a, const ReferenceCell& b) { return a.settings < b.settings; });
  return update;
}

// Puts the value into the field where measure() looks for the metric in a run without steps.
void put_value(RunRecord& run, const std::string& name, double value) {
  const Metric metric = metric_named(name);
  if (name == "images_per_second")
    run.images_per_second = value;
  else if (name == "wall_seconds")
    run.wall_seconds = value;
  else if (metric.name == kSecondsToAccuracy)
    run.details["accuracy_curve"] = fmt::format("[[{},0,{}]]", value, metric.accuracy.value_or(1));
  else
    run.figures.any()[name] = value;
}

}  // namespace

std::set<std::string> MachineReferences::metrics() const {
  std::set<std::string> names;
  for (const ReferenceCell& cell : cells)
    for (const auto& [name, values] : cell.values) names.insert(name);
  return names;
}

const MachineReferences* References::find(const std::string& machine) const {
  const auto found = std::find_if(machines.begin(), machines.end(),
                                  [&](const MachineReferences& row) { return row.machine == machine; });
  return found == machines.end() ? nullptr : &*found;
}

std::string reference_name(const Metric& metric) {
  if (metric.name != kSecondsToAccuracy || !metric.accuracy) return metric.name;
  return fmt::format("{}({})", metric.name, *metric.accuracy);
}

std::vector<ReferenceUpdate> update_references(References& references, std::span<const RunRecord> runs,
                                               const Metric& metric) {
  std::map<std::string, std::vector<const RunRecord*>> by_machine;
  for (const RunRecord& run : runs)
    if (const std::string machine = machine_of(run); run.status == Status::ok && !machine.empty())
      by_machine[machine].push_back(&run);
  std::set<std::string> names(kKeptMetrics.begin(), kKeptMetrics.end());
  names.insert(reference_name(metric));
  std::vector<ReferenceUpdate> updates;
  for (const auto& [machine, of_machine] : by_machine)
    updates.push_back(update_machine(machine_row(references, machine), of_machine, names));
  std::sort(references.machines.begin(), references.machines.end(),
            [](const MachineReferences& a, const MachineReferences& b) { return a.machine < b.machine; });
  return updates;
}

std::vector<RunRecord> reference_runs(const MachineReferences& references, const Metric& metric) {
  const std::string wanted = reference_name(metric);
  std::vector<RunRecord> runs;
  for (const ReferenceCell& cell : references.cells) {
    const auto values_wanted = cell.values.find(wanted);
    if (values_wanted == cell.values.end()) continue;
    for (std::size_t i = 0; i < values_wanted->second.size(); ++i) {
      RunRecord run;
      run.asked = cell.settings;
      run.node = references.machine;
      // Comparisons also use stalls and the accuracy.
      for (const std::string& name : std::set<std::string>{wanted, "images_per_second", "test_accuracy"})
        if (const auto values = cell.values.find(name); values != cell.values.end())
          if (std::isfinite(values->second[i])) put_value(run, name, values->second[i]);
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace trainyard::record
