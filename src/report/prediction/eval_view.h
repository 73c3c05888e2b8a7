#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "predict/named_scores.h"

namespace trainyard::report {

// What a run that was predicted is.
struct PredictedRun {
  std::string network, device;
  std::string family;  // of the network; empty: not known
  std::string optimizer, dataset;
  std::int64_t batch = 0;
  double epochs = 0;
};

// All that the page of an evaluation sees.
struct EvalView {
  std::string title{};   // what the runs are from
  std::string method{};  // sentences: which model predicted which runs
  std::vector<PredictedRun> runs{};
  std::vector<predict::Judged> judged{};  // rows are places in `runs`; one may be judged several times
  predict::NamedScores held_out{};        // empty: nothing was
  std::map<std::string, int> skipped{};   // runs left out, by the unknown name

  const PredictedRun& run(const predict::Judged& one) const { return runs[one.row]; }
};

// Whether a prediction came with an interval: models that were not calibrated have none.
bool has_interval(const predict::Judged& one);
bool has_intervals(const EvalView& view);

// Families of the runs that were judged, by name; empty where none is known. Those of some unknown have
// "other".
std::vector<std::string> families_of(const EvalView& view);
std::string family_name(const PredictedRun& run);

// By name.
predict::NamedScores family_scores(const EvalView& view);
predict::NamedScores device_scores(const EvalView& view);
predict::NamedScores network_scores(const EvalView& view);

}  // namespace trainyard::report
