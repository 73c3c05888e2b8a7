#include "record/references.h"

#include <ctime>

#include <fmt/chrono.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "record/build.h"

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

namespace {

// This is not the ordered type, whose linear search for keys takes hours on a hostile object.

constexpr int kReferencesSchema = 1;
constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;
constexpr int kDeepest = 8;          // the format needs 7
constexpr double kSmallest = 1e-18;  // of values; the largest is 1 over it
constexpr std::size_t kMostMachines = 1000, kMostCells = 20'000, kMostSettings = 200, kMostMetrics = 200,
                      kMostRunsOfCell = 1000;

[[noreturn]] void refuse_references(const std::string& where, const std::string& wanted) {
  fail(ErrorKind::config, "references: {}: {} expected", where, wanted);
}

const Json& member_of(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) refuse_references(where, "an object");
  const auto found = object.find(key);
  if (found == object.end()) fail(ErrorKind::config, "references: {}: '{}' is missing", where, key);
  return *found;
}

std::string text_of(const Json& object, const char* key, const std::string& where) {
  const Json& text = member_of(object, key, where);
  if (!text.is_string()) refuse_references(where + "." + key, "a text");
  return text.get<std::string>();
}

// Checks the size of an array or an object.
const Json& limited(const Json& json, bool array, std::size_t most, const std::string& where) {
  if ((array ? !json.is_array() : !json.is_object()) || json.size() > most)
    refuse_references(where, fmt::format("{} of at most {}", array ? "an array" : "an object", most));
  return json;
}

std::vector<double> read_values(const Json& json, const std::string& where) {
  std::vector<double> values;
  for (const Json& one : limited(json, true, kMostRunsOfCell, where)) {
    const double value = one.is_null()     ? std::numeric_limits<double>::quiet_NaN()
                         : one.is_number() ? one.get<double>()
                                           : -1;
    if (!one.is_null() && !(value >= kSmallest && value <= 1 / kSmallest))
      refuse_references(where, fmt::format("numbers from {0} to 1/{0}, or null,", kSmallest));
    values.push_back(value);
  }
  return values;
}

ReferenceCell read_cell(const Json& json, const std::string& where) {
  ReferenceCell cell;
  const Json& settings = member_of(json, "settings", where);
  for (const auto& [name, value] : limited(settings, false, kMostSettings, where + ".settings").items()) {
    if (!value.is_primitive() || value.is_null())
      refuse_references(fmt::format("{}.settings.{}", where, name), "a number, a word or true/false");
    cell.settings[name] = value_of(value);
  }
  const Json& values = member_of(json, "values", where);
  for (const auto& [name, list] : limited(values, false, kMostMetrics, where + ".values").items())
    cell.values[name] = read_values(list, fmt::format("{}.values.{}", where, name));
  for (const auto& [name, list] : cell.values)
    if (list.size() != cell.values.begin()->second.size())
      refuse_references(where + ".values", "lists of one length, a value for every run");
  return cell;
}

MachineReferences read_machine(const Json& json, const std::string& where) {
  MachineReferences machine{
      text_of(json, "machine", where), text_of(json, "build", where), text_of(json, "measured", where), {}};
  if (machine.machine.empty()) refuse_references(where + ".machine", "a text that is not empty");
  const Json& cells = member_of(json, "cells", where);
  for (const Json& cell : limited(cells, true, kMostCells, where + ".cells"))
    machine.cells.push_back(read_cell(cell, fmt::format("{}.cells[{}]", where, machine.cells.size())));
  return machine;
}

// Names and paths are not always UTF-8.
std::string one_line(const Json& json) { return json_text(json); }

std::string cell_lines(const ReferenceCell& cell) {
  std::vector<std::string> metrics;
  for (const auto& [name, values] : cell.values) {
    std::vector<std::string> numbers;
    for (const double value : values) numbers.push_back(one_line(json_of(value)));
    metrics.push_back(fmt::format("            {}: [{}]", one_line(name), joined(numbers, ", ")));
  }
  return fmt::format(
      "        {{\n          \"settings\": {},\n          \"values\": {{\n{}\n          }}\n        }}",
      one_line(json_of(cell.settings)), joined(metrics, ",\n"));
}

std::string machine_lines(const MachineReferences& machine) {
  std::vector<std::string> cells;
  for (const ReferenceCell& cell : machine.cells) cells.push_back(cell_lines(cell));
  return fmt::format(
      "    {{\n      \"machine\": {},\n      \"build\": {},\n      \"measured\": {},\n"
      "      \"cells\": [\n{}\n      ]\n    }}",
      one_line(machine.machine), one_line(machine.build), one_line(machine.measured), joined(cells, ",\n"));
}

}  // namespace

std::string to_json(const References& references) {
  std::vector<std::string> machines;
  for (const MachineReferences& machine : references.machines) machines.push_back(machine_lines(machine));
  return fmt::format("{{\n  \"schema\": {},\n  \"machines\": [\n{}\n  ]\n}}\n", kReferencesSchema,
                     joined(machines, ",\n"));
}

References references_from_json(std::string_view text) {
  if (text.size() > kMostFileBytes)
    refuse_references("the file", fmt::format("at most {} bytes", kMostFileBytes));
  const auto not_too_deep = [](int depth, JsonEvent, const Json&) {
    if (depth > kDeepest) refuse_references("the file", fmt::format("at most {} levels", kDeepest));
    return true;
  };
  References references;
  try {
    const Json json = parse_json(text, not_too_deep);
    const Json& schema = member_of(json, "schema", "the file");
    if (!schema.is_number_integer() || schema.get<std::int64_t>() != kReferencesSchema)
      fail(ErrorKind::config, "references: schema {}, this trainyard reads {}", one_line(schema),
           kReferencesSchema);
    const Json& machines = member_of(json, "machines", "the file");
    for (const Json& machine : limited(machines, true, kMostMachines, "machines")) {
      MachineReferences row = read_machine(machine, fmt::format("machines[{}]", references.machines.size()));
      if (references.find(row.machine) != nullptr)
        fail(ErrorKind::config, "references: machine '{}' is there twice", row.machine);
      references.machines.push_back(std::move(row));
    }
  } catch (const Json::Error& error) {
    fail(ErrorKind::config, "references: not JSON: {}", error.what());
  }
  return references;
}

References read_references(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path, kMostFileBytes);
  try {
    return references_from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const Error& error) {
    fail(error.kind(), "'{}': {}", path.string(), error.what());
  }
}

void write_references(const References& references, const std::filesystem::path& path) {
  const std::string text = to_json(references);
  references_from_json(text);  // what would be refused later must not take the place of what is good
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace trainyard::record
