#pragma once

// For tests only: studies that look like real ones.

#include "record/run_record.h"
#include "report/study_view.h"
#include "store/store.h"

namespace trainyard::report {

struct TestStudy {
  std::string name;
  std::vector<store::PlannedRun> planned;
  std::vector<record::RunRecord> runs;

  // The runs of a cell's replicate.
  record::RunRecord& run(std::size_t cell, int replicate);
  int replicates = 1;
};

using TestAxes = std::vector<std::pair<std::string, std::vector<record::Value>>>;

// Returns every cell of the matrix, every replicate done on node-a or node-b, with step times of plausible
// shape: a warm-up, an unsteady prefix, noise, outliers.
TestStudy make_test_study(const std::string& name, const TestAxes& axes, int replicates);

// Describes the work of a step of a fully connected network of its layers and width, on a device with roofs
// of 10 Tflop/s and 100 GB/s, in memory; half of its time is products, half elementwise ops.
void describe_network(record::RunRecord& run);

// Gives a run the profile of a command that was busy twice, on the CPU and on a GPU.
void add_profile(record::RunRecord& run);

// Turns a run into one that ended badly.
void fail_run(record::RunRecord& run, record::Status status, const std::string& reason);
// Takes a run away: planned, never seen.
void lose_run(TestStudy& study, std::size_t cell, int replicate);

inline StudyView view_of(const TestStudy& study) {
  return make_study_view(study.name, study.planned, study.runs);
}

inline record::Value word(const char* text) { return std::string(text); }

}  // namespace trainyard::report
