#pragma once

#include "record/run_record.h"
#include "store/store.h"

namespace trainyard::report {

// An Axis is a setting that differs between the cells of a study.
struct Axis {
  std::string name;
  std::vector<record::Value> values;  // numbers ascending, words in the order of the plan
  bool numeric = false;               // every value is a number, or absent
};

// Returns whether the value stands for a setting that a cell lacks: text "-".
bool is_absent(const record::Value& value);

// Images per second of one cell, over its runs. A run counts once, whatever its number of steps.
struct CellThroughput {
  int runs = 0;                     // that have a throughput
  double median = 0;                // of runs, or of nodes where they differ: the headline
  double mean = 0, max = 0;         // of runs
  stats::Interval interval;         // 95 % of the median, above zero; only with two runs or more
  double run_to_run = 0;            // standard deviation between runs / mean; only with two runs or more
  int nodes = 0;                    // that the runs were on
  double within_nodes = 0;          // as run_to_run, within nodes; equal where there is one node
  bool by_node = false;             // nodes differ by more than their runs explain
  double jitter = 0;                // mean over runs of speed jitter / mean speed: between the steps of a run
  std::int64_t steps = 0;           // timed, over all runs
  std::int64_t unsteady_steps = 0;  // of these, left out as not yet steady
  int never_steady = 0;             // runs that did not settle

  // Returns the value that charts and sentences show for the cell.
  double centre() const { return median; }
  bool has_interval() const { return runs > 1; }
};

// One point of the matrix, and the outcome of its runs; record/build.h says which attempt speaks for one.
struct CellView {
  std::string id;
  std::string label;  // the settings that tell it from all others: "lenet, batch 64, threads 2"
  record::Settings settings;
  std::vector<const record::RunRecord*> done;    // ok; one a replicate
  std::vector<const record::RunRecord*> failed;  // not ok; one a replicate
  int missing = 0;                               // replicates expected, but without any run
  CellThroughput throughput;                     // of `done`

  int expected() const { return static_cast<int>(done.size() + failed.size()) + missing; }
  bool complete() const { return failed.empty() && missing == 0; }
  record::Value setting(const std::string& name) const;
};

// Addresses of the study's own files, relative to the page; empty: there is no such file.
struct FileLinks {
  std::string spec, store, records;
  std::map<std::string, std::string> logs, record_files;  // by run id
};

// All that a chart or a section of the page sees. Cells point into `runs`: it can be moved, not copied.
struct StudyView {
  std::string name;
  std::vector<record::RunRecord> runs;  // every attempt
  std::vector<Axis> axes;               // words before numbers, each in alphabetical order
  std::vector<CellView> cells;          // in the order of the axes' values
  record::Settings common;              // settings that all cells share
  FileLinks links;

  StudyView() = default;
  StudyView(StudyView&&) = default;
  StudyView& operator=(StudyView&&) = default;

  const Axis* find_axis(const std::string& name) const;  // null: it does not vary
};

StudyView make_study_view(std::string name, const std::vector<store::PlannedRun>& planned,
                          std::vector<record::RunRecord> runs);

// "lenet, batch 64": the values of these axes, words alone and numbers with their name.
std::string label(const CellView& cell, const std::vector<Axis>& axes);

CellThroughput summarise_throughput(std::span<const record::RunRecord* const> runs);

}  // namespace trainyard::report
