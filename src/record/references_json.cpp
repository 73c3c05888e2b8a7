#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "record/references.h"
#include "record/value.h"

namespace trainyard::record {
namespace {

// This is not the ordered type, whose linear search for keys takes hours on a hostile object.
using ReferenceJson = nlohmann::json;

constexpr int kReferencesSchema = 1;
constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;
constexpr int kDeepest = 8;          // the format needs 7
constexpr double kSmallest = 1e-18;  // of values; the largest is 1 over it
constexpr std::size_t kMostMachines = 1000, kMostCells = 20'000, kMostSettings = 200, kMostMetrics = 200,
                      kMostRunsOfCell = 1000;

[[noreturn]] void refuse_references(const std::string& where, const std::string& wanted) {
  fail(ErrorKind::config, "references: {}: {} expected", where, wanted);
}

const ReferenceJson& member_of(const ReferenceJson& object, const char* key, const std::string& where) {
  if (!object.is_object()) refuse_references(where, "an object");
  const auto found = object.find(key);
  if (found == object.end()) fail(ErrorKind::config, "references: {}: '{}' is missing", where, key);
  return *found;
}

std::string text_of(const ReferenceJson& object, const char* key, const std::string& where) {
  const ReferenceJson& text = member_of(object, key, where);
  if (!text.is_string()) refuse_references(where + "." + key, "a text");
  return text.get<std::string>();
}

// Checks the size of an array or an object.
const ReferenceJson& limited(const ReferenceJson& json, bool array, std::size_t most,
                             const std::string& where) {
  if ((array ? !json.is_array() : !json.is_object()) || json.size() > most)
    refuse_references(where, fmt::format("{} of at most {}", array ? "an array" : "an object", most));
  return json;
}

std::vector<double> read_values(const ReferenceJson& json, const std::string& where) {
  std::vector<double> values;
  for (const ReferenceJson& one : limited(json, true, kMostRunsOfCell, where)) {
    const double value = one.is_null()     ? std::numeric_limits<double>::quiet_NaN()
                         : one.is_number() ? one.get<double>()
                                           : -1;
    if (!one.is_null() && !(value >= kSmallest && value <= 1 / kSmallest))
      refuse_references(where, fmt::format("numbers from {0} to 1/{0}, or null,", kSmallest));
    values.push_back(value);
  }
  return values;
}

ReferenceCell read_cell(const ReferenceJson& json, const std::string& where) {
  ReferenceCell cell;
  const ReferenceJson& settings = member_of(json, "settings", where);
  for (const auto& [name, value] : limited(settings, false, kMostSettings, where + ".settings").items()) {
    if (!value.is_primitive() || value.is_null())
      refuse_references(fmt::format("{}.settings.{}", where, name), "a number, a word or true/false");
    cell.settings[name] = value_of(value);
  }
  const ReferenceJson& values = member_of(json, "values", where);
  for (const auto& [name, list] : limited(values, false, kMostMetrics, where + ".values").items())
    cell.values[name] = read_values(list, fmt::format("{}.values.{}", where, name));
  for (const auto& [name, list] : cell.values)
    if (list.size() != cell.values.begin()->second.size())
      refuse_references(where + ".values", "lists of one length, a value for every run");
  return cell;
}

MachineReferences read_machine(const ReferenceJson& json, const std::string& where) {
  MachineReferences machine{
      text_of(json, "machine", where), text_of(json, "build", where), text_of(json, "measured", where), {}};
  if (machine.machine.empty()) refuse_references(where + ".machine", "a text that is not empty");
  const ReferenceJson& cells = member_of(json, "cells", where);
  for (const ReferenceJson& cell : limited(cells, true, kMostCells, where + ".cells"))
    machine.cells.push_back(read_cell(cell, fmt::format("{}.cells[{}]", where, machine.cells.size())));
  return machine;
}

// Names and paths are not always UTF-8.
std::string one_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string cell_lines(const ReferenceCell& cell) {
  std::vector<std::string> metrics;
  for (const auto& [name, values] : cell.values) {
    std::vector<std::string> numbers;
    for (const double value : values) numbers.push_back(one_line(json_of(value)));
    metrics.push_back(fmt::format("            {}: [{}]", one_line(name), fmt::join(numbers, ", ")));
  }
  return fmt::format(
      "        {{\n          \"settings\": {},\n          \"values\": {{\n{}\n          }}\n        }}",
      one_line(json_of(cell.settings)), fmt::join(metrics, ",\n"));
}

std::string machine_lines(const MachineReferences& machine) {
  std::vector<std::string> cells;
  for (const ReferenceCell& cell : machine.cells) cells.push_back(cell_lines(cell));
  return fmt::format(
      "    {{\n      \"machine\": {},\n      \"build\": {},\n      \"measured\": {},\n"
      "      \"cells\": [\n{}\n      ]\n    }}",
      one_line(machine.machine), one_line(machine.build), one_line(machine.measured),
      fmt::join(cells, ",\n"));
}

}  // namespace

std::string to_json(const References& references) {
  std::vector<std::string> machines;
  for (const MachineReferences& machine : references.machines) machines.push_back(machine_lines(machine));
  return fmt::format("{{\n  \"schema\": {},\n  \"machines\": [\n{}\n  ]\n}}\n", kReferencesSchema,
                     fmt::join(machines, ",\n"));
}

References references_from_json(std::string_view text) {
  if (text.size() > kMostFileBytes)
    refuse_references("the file", fmt::format("at most {} bytes", kMostFileBytes));
  const auto not_too_deep = [](int depth, ReferenceJson::parse_event_t, const ReferenceJson&) {
    if (depth > kDeepest) refuse_references("the file", fmt::format("at most {} levels", kDeepest));
    return true;
  };
  References references;
  try {
    const ReferenceJson json = ReferenceJson::parse(text, not_too_deep);
    const ReferenceJson& schema = member_of(json, "schema", "the file");
    if (!schema.is_number_integer() || schema.get<std::int64_t>() != kReferencesSchema)
      fail(ErrorKind::config, "references: schema {}, this trainyard reads {}", one_line(schema),
           kReferencesSchema);
    const ReferenceJson& machines = member_of(json, "machines", "the file");
    for (const ReferenceJson& machine : limited(machines, true, kMostMachines, "machines")) {
      MachineReferences row = read_machine(machine, fmt::format("machines[{}]", references.machines.size()));
      if (references.find(row.machine) != nullptr)
        fail(ErrorKind::config, "references: machine '{}' is there twice", row.machine);
      references.machines.push_back(std::move(row));
    }
  } catch (const ReferenceJson::exception& error) {
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
