#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/metric.h"
#include "record/run_record.h"

namespace trainyard::record {

// What runs of one cell came to when somebody accepted it.
struct ReferenceCell {
  Settings settings;  // the envelope without the build
  // By name of the metric: a value a run, in the same order of runs in every list. NaN: that run has none.
  std::map<std::string, std::vector<double>> values;
};

// References that were measured on one kind of machine (machine.h).
struct MachineReferences {
  std::string machine;
  std::string build, measured;  // of the last update: the build, and the day as 2026-11-18; "": not known
  std::vector<ReferenceCell> cells;

  std::set<std::string> metrics() const;  // that any cell has
};

// A file of references: docs/formats/references.md.
struct References {
  std::vector<MachineReferences> machines;

  const MachineReferences* find(const std::string& machine) const;  // null: there are none
};

// The name that references have for the metric. A time to an accuracy is another one for every accuracy.
std::string reference_name(const Metric& metric);

struct ReferenceUpdate {
  std::string machine;
  int added = 0, replaced = 0;  // cells
  int runs = 0;                 // in them
};

// Puts the values of all good runs that say their machine into the references, a row of the result for each
// machine: for the metrics that gates commonly want, `metric`, and what the machine's references had before.
// Cells and machines that no good run is of stay as they are.
std::vector<ReferenceUpdate> update_references(References& references, std::span<const RunRecord> runs,
                                               const Metric& metric);

// The references as runs that compare_cells() takes: those of cells that have the metric. Their node is the
// machine, as all hosts of one kind count for one node.
std::vector<RunRecord> reference_runs(const MachineReferences& references, const Metric& metric);

// In an order that does not depend on the order of updates, and with a line for a list: so a version control
// shows what changed.
std::string to_json(const References& references);
// Error (config) in one line when it is no such file, is damaged, of a newer schema or beyond the limits.
References references_from_json(std::string_view text);

// Errors name the file. Written whole or not at all; Error (config) where the limits would be exceeded.
References read_references(const std::filesystem::path& path);
void write_references(const References& references, const std::filesystem::path& path);

}  // namespace trainyard::record
