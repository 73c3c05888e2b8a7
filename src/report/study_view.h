#pragma once

#include <map>
#include <string>
#include <vector>

#include "record/run_record.h"
#include "report/series.h"
#include "store/store.h"

namespace trainyard::report {

// A setting that differs between the cells of a study.
struct Axis {
  std::string name;
  std::vector<record::Value> values;  // numbers ascending, words in the order of the plan
  bool numeric = false;               // every value is a number, or absent
};

// The value of a setting that a cell lacks: text "-".
bool is_absent(const record::Value& value);

// One point of the matrix, and what became of its runs; record/attempts.h says which attempt speaks for one.
struct Cell {
  std::string id;
  std::string label;  // the settings that tell it from all others: "lenet, batch 64, threads 2"
  record::Settings settings;
  std::vector<const record::RunRecord*> done;    // ok; one a replicate
  std::vector<const record::RunRecord*> failed;  // not ok; one a replicate
  int missing = 0;                               // replicates expected, but without any run
  Throughput throughput;                         // of `done`

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
  std::vector<Cell> cells;              // in the order of the axes' values
  record::Settings common;              // settings that all cells share
  FileLinks links;

  StudyView() = default;
  StudyView(StudyView&&) = default;
  StudyView& operator=(StudyView&&) = default;

  const Axis* find_axis(const std::string& name) const;  // null: it does not vary
  bool has_throughput() const;                           // of at least one cell
};

StudyView make_study_view(std::string name, const std::vector<store::PlannedRun>& planned,
                          std::vector<record::RunRecord> runs);

// "lenet, batch 64": the values of these axes, words alone and numbers with their name.
std::string label(const Cell& cell, const std::vector<Axis>& axes);

}  // namespace trainyard::report
