#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "predict/analytic/predictor.h"
#include "predict/runs/run_set.h"

namespace trainyard::predict {

// A run beside its prediction.
struct Judged {
  std::size_t row = 0;
  double measured = 0, predicted = 0, low = 0, high = 0;
  bool oom = false;  // as it ended
  double oom_probability = 0;
  std::vector<ResourceUse> use = {}, usual_use = {};  // as predicted, and the means of its device
  double measured_bytes = 0, predicted_bytes = 0;     // at the peak; measured 0: the run does not say

  double error() const;         // |predicted - measured| / measured
  double memory_error() const;  // the same of bytes. REQUIRES: they were measured
};

std::vector<Judged> judge(const TimeModel& model, const RunSet& set, const std::vector<std::size_t>& rows);
std::vector<Judged> judge(Predictor& model, const RunSet& set, const std::vector<std::size_t>& rows);

// Of the runs that ended well: relative errors, order, how many lie in their interval. Of all: how well
// running out of memory was foreseen.
struct Score {
  std::size_t runs = 0;
  double mape = 0, median = 0, p95 = 0, spearman = 0, coverage = 0;
  std::size_t oom = 0, oom_missed = 0, oom_false = 0;
  // Of the runs that say what they had in memory.
  std::size_t memory_runs = 0;
  double memory_mape = 0, memory_median = 0;
};
Score score(const std::vector<Judged>& judged);

// Of the runs that ended well and say how they used a resource: mean absolute errors of a share, and of
// always saying the mean over the device's runs.
struct UseScore {
  std::string resource;
  const char* share = "";  // burst or peak; idle is the rest beside bursts, so its error is the same
  std::size_t runs = 0;
  double error = 0, usual_error = 0;
};
std::vector<UseScore> score_use(const RunSet& set, const std::vector<Judged>& judged);

// Spearman's rank correlation, ties by their mean rank; 0 where one side does not vary.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

// Where rows go: those to learn from, to choose by (which nothing here needs) and to judge by.
struct Split {
  std::string name;  // what was held out
  std::vector<std::size_t> train, validation, test;
};

enum class SplitKind { random, network, family, device };
struct SplitOptions {
  SplitKind kind = SplitKind::random;
  std::uint64_t seed = 1;
  bool twins_together = false;        // random: runs that differ in epochs or data set alone stay on one side
  std::vector<std::string> together;  // others: one split that holds out these values at once; empty: each
};

// random: 60 % of each device's rows to learn from, 20 % and 20 %. Others: one split for each value.
std::vector<Split> make_splits(const RunSet& set, const SplitOptions& options);

// Error (internal) when a held-out network, family or device is on both sides, or a row is.
void check_no_leak(const RunSet& set, const Split& split, SplitKind kind);

// Few runs of a new device: `few` of the target's at random to adapt with, the others to judge by.
Split few_shot(const RunSet& set, const std::string& target, std::size_t few, std::uint64_t seed);
std::vector<std::size_t> rows_of_device(const RunSet& set, const std::string& device);

// Scores of parts by the parts' names, in the order they are added.
using NamedScores = std::vector<std::pair<std::string, Score>>;

// One score for each value of `key_of`, by name.
template <typename KeyOf>
NamedScores scores_by(const std::vector<Judged>& judged, const KeyOf& key_of) {
  std::map<std::string, std::vector<Judged>> parts;
  for (const Judged& one : judged) parts[key_of(one)].push_back(one);
  NamedScores scores;
  for (const auto& [name, part] : parts) scores.emplace_back(name, score(part));
  return scores;
}

}  // namespace trainyard::predict
