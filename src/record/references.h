#pragma once

#include "record/metric.h"
#include "record/run_record.h"

namespace trainyard::record {

// ReferenceCell holds the values of one cell's runs when a user accepted them.
struct ReferenceCell {
  Settings settings;  // the envelope without the build
  // Each metric has one value per run, in the same order of runs. NaN: that run has none.
  std::map<std::string, std::vector<double>> values;
};

// MachineReferences holds references that were measured on one kind of machine (machine_of() in build.h).
struct MachineReferences {
  std::string machine;
  std::string build, measured;  // of the last update: the build, and the day as 2026-11-18; "": not known
  std::vector<ReferenceCell> cells;

  std::set<std::string> metrics() const;  // that any cell has
};

// References is a file of references: docs/formats/references.md.
struct References {
  std::vector<MachineReferences> machines;

  const MachineReferences* find(const std::string& machine) const;  // null: there are none
};

// Returns the name of the metric in references. A time to an accuracy has another name for every accuracy.
std::string reference_name(const Metric& metric);

struct ReferenceUpdate {
  std::string machine;
  int added = 0, replaced = 0;  // cells
  int runs = 0;                 // in them
};

// Puts the values of all good runs that name their machine into the references, and returns a row for each
// machine. It stores the metrics that gates commonly need, `metric`, and those that the machine's references
// had before. Cells and machines without a good run stay as they are.
std::vector<ReferenceUpdate> update_references(References& references, std::span<const RunRecord> runs,
                                               const Metric& metric);

// Returns the references as runs that compare_cells() takes: those of cells that have the metric. Their node
// is the machine, because all hosts of one kind count as one node.
std::vector<RunRecord> reference_runs(const MachineReferences& references, const Metric& metric);

// Writes in an order independent of the order of updates, with a line for each list, so that version control
// shows the changes.
std::string to_json(const References& references);
// Throws Error (config) in one line for text that is no such file, is damaged, has a newer schema or exceeds
// the limits.
References references_from_json(std::string_view text);

// Errors name the file. It is written whole or not at all; Error (config) where the limits would be exceeded.
References read_references(const std::filesystem::path& path);
void write_references(const References& references, const std::filesystem::path& path);

}  // namespace trainyard::record
