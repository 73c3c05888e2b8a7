#include "base/json.h"
#include "base/text.h"
#include "cli/compare.h"

#include "base/error.h"
#include "record/build.h"
#include "record/references.h"

namespace trainyard::cli {
namespace {

using GateRuns = std::vector<record::RunRecord>;

int failed_among(const GateRuns& runs) {
  return static_cast<int>(std::count_if(runs.begin(), runs.end(), [](const record::RunRecord& run) {
    return run.status != record::Status::ok;
  }));
}

// "; runs that failed: 2, the first: crash, signal 11"; "" where none did.
std::string failures_text(const GateRuns& runs) {
  for (const record::RunRecord& run : runs)
    if (run.status != record::Status::ok)
      return fmt::format("; runs that failed: {}, the first: {}, {}", failed_among(runs), name(run.status),
                         run.reason);
  return "";
}

// Kinds of machines that the runs were made on, by the good ones: what crashed may not have come to say it.
std::set<std::string> machines_of(const GateRuns& runs) {
  std::set<std::string> good, all;
  for (const record::RunRecord& run : runs) {
    const std::string machine = record::machine_of(run);
    if (machine.empty()) continue;
    all.insert(machine);
    if (run.status == record::Status::ok) good.insert(machine);
  }
  return good.empty() ? all : good;
}

record::References references_in(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file))
    fail(ErrorKind::config, "compare: there is no '{}'; --update makes it of these runs", file.string());
  return record::read_references(file);
}

// Returns the references of every machine that the runs were made on.
std::vector<const record::MachineReferences*> rows_for(const record::References& references,
                                                       const std::set<std::string>& machines,
                                                       const GateOptions& options) {
  std::vector<const record::MachineReferences*> rows;
  std::vector<std::string> known;
  for (const record::MachineReferences& row : references.machines)
    known.push_back(fmt::format("'{}'", row.machine));
  for (const std::string& machine : machines) {
    rows.push_back(references.find(machine));
    if (rows.back() == nullptr || rows.back()->cells.empty())
      fail(ErrorKind::config,
           "compare: '{}' has no references for '{}', it has some for {}; --update adds it",
           options.file.string(), machine, known.empty() ? "no machine" : joined(known, ", "));
  }
  return rows;
}

record::Metric metric_in(const std::vector<const record::MachineReferences*>& rows,
                         const GateOptions& options) {
  const std::string wanted = record::reference_name({.name = options.metric, .accuracy = options.accuracy});
  GateRuns referred;
  for (const record::MachineReferences* row : rows) {
    const std::set<std::string> names = row->metrics();
    if (!names.contains(wanted))
      fail(ErrorKind::usage, "metric '{}': the references do not have it{}; there are {}", wanted,
           did_you_mean(wanted, {names.begin(), names.end()}), joined(names, ", "));
    if (options.accuracy && !names.contains("test_accuracy"))
      fail(ErrorKind::usage, "--accuracy: the references of '{}' have no test_accuracy", row->machine);
    for (record::RunRecord& run :
         record::reference_runs(*row, {.name = options.metric, .accuracy = options.accuracy}))
      referred.push_back(std::move(run));
  }
  return record::find_metric(options.metric, options.accuracy, referred);
}

// Hosts of one kind count for one node, and what a reference does not hold cannot differ.
GateRuns as_on_machines(GateRuns runs) {
  for (record::RunRecord& run : runs) {
    run.node = record::machine_of(run);
    run.provenance.clear();
    run.words.erase("build");
  }
  return runs;
}

ComparedSides sides_of_gate(const std::vector<const record::MachineReferences*>& rows,
                            const record::Metric& metric, const GateOptions& options, const GateRuns& runs) {
  ComparedSides sides{options.file.string(), options.results, {}, as_on_machines(runs), {}};
  const char* before = ": ";
  for (const record::MachineReferences* row : rows) {
    sides.name_a += fmt::format("{}{}", before, row->machine);
    before = "; ";
    if (!row->build.empty()) sides.name_a += fmt::format(", build {}", row->build);
    if (!row->measured.empty()) sides.name_a += fmt::format(", {}", row->measured);
    for (record::RunRecord& run : record::reference_runs(*row, metric))
      sides.runs_a.push_back(std::move(run));
  }
  return sides;
}

// Returns the cells that have a reference, and no run that ended well with the metric. A run that missed the
// accuracy counts as a run.
std::vector<record::Settings> cells_without_run(const record::Comparison& comparison) {
  std::vector<record::Settings> cells;
  for (const record::UnmatchedCell& cell : comparison.unmatched)
    if (cell.only_in_a) cells.push_back(cell.envelope);
  for (const record::ComparedCell& cell : comparison.cells)
    if (cell.verdict.runs_b == 0 && cell.verdict.outcome == record::Outcome::unclear) cells.push_back(cell.a);
  return cells;
}

// The table is printed by then; the error gives the exit code, and a line that names what is missing.
[[noreturn]] void fail_without_run(const std::vector<record::Settings>& cells, const record::Metric& metric,
                                   const GateRuns& runs) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(cells.size(), kMostNamed); ++i)
    named.push_back(record::to_text(cells[i]));
  if (cells.size() > kMostNamed) named.push_back(fmt::format("{} more", cells.size() - kMostNamed));
  fail(ErrorKind::peer, "compare: {} a reference and no good run with {}: {}{}",
       cells.size() == 1 ? "a cell has" : fmt::format("{} cells have", cells.size()), metric.name,
       joined(named, "; "), failures_text(runs));
}

[[noreturn]] void fail_without_machine(const GateOptions& options, const GateRuns& runs) {
  const bool any_good = std::any_of(runs.begin(), runs.end(), [](const record::RunRecord& run) {
    return run.status == record::Status::ok;
  });
  if (!any_good)
    fail(ErrorKind::peer, "compare: no run of '{}' ended well{}", options.results, failures_text(runs));
  fail(ErrorKind::config,
       "compare: no run of '{}' says what machine it was made on, so --gate has no reference for it",
       options.results);
}

}  // namespace

int pass_gate(const GateOptions& options, const GateRuns& runs) {
  const record::References references = references_in(options.file);
  const std::set<std::string> machines = machines_of(runs);
  if (machines.empty()) fail_without_machine(options, runs);
  const auto rows = rows_for(references, machines, options);
  const record::Metric metric = metric_in(rows, options);
  const ComparedSides sides = sides_of_gate(rows, metric, options, runs);
  const record::Comparison comparison =
      record::compare_cells(sides.runs_a, sides.runs_b, {}, metric, options.verdict);
  const std::vector<record::Settings> without_run = cells_without_run(comparison);
  if (options.json) {
    Json json = comparison_json(sides, comparison, metric, options.verdict);
    json["machines"] = machines;
    json["without_good_run"] = Json::array();
    for (const record::Settings& cell : without_run)
      json["without_good_run"].push_back(parse_json(record::to_json(cell)));
    fmt::print("{}\n", json_text(json));
  } else {
    print_comparison(sides, comparison, metric, options.verdict);
  }
  if (!without_run.empty()) fail_without_run(without_run, metric, runs);
  return comparison.count(record::Outcome::worse) > 0 ? 3 : 0;
}

int update_gate(const GateOptions& options, const GateRuns& runs) {
  record::References references;
  if (std::filesystem::exists(options.file)) references = record::read_references(options.file);
  const record::Metric metric = record::find_metric(options.metric, options.accuracy, runs);
  if (machines_of(runs).empty()) fail_without_machine(options, runs);
  const std::vector<record::ReferenceUpdate> updates = record::update_references(references, runs, metric);
  const bool any = std::any_of(updates.begin(), updates.end(),
                               [](const record::ReferenceUpdate& update) { return update.runs > 0; });
  if (!any)
    fail(ErrorKind::config, "compare: no run of '{}' ended well with a figure to keep: '{}' stays as it is",
         options.results, options.file.string());
  record::write_references(references, options.file);
  std::vector<std::string> texts;
  Json rows = Json::array();
  for (const record::ReferenceUpdate& update : updates) {
    texts.push_back(fmt::format("{}: {} cells added, {} replaced, of {} runs", update.machine, update.added,
                                update.replaced, update.runs));
    rows.push_back({{"machine", update.machine},
                    {"cells_added", update.added},
                    {"cells_replaced", update.replaced},
                    {"runs", update.runs}});
  }
  const int failed = failed_among(runs);
  if (options.json)
    fmt::print("{}\n",
               json_text(Json{{"file", options.file.string()}, {"updated", rows}, {"runs_failed", failed}}));
  else
    fmt::print("{}: {}{}\n", options.file.string(), joined(texts, "; "),
               failed == 0 ? "" : fmt::format("; {} runs failed and left no value", failed));
  return 0;
}

}  // namespace trainyard::cli
