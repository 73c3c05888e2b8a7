#pragma once

#include "predict/analytic/predictor.h"
#include "predict/runs/run_set.h"

namespace trainyard::predict {

// Judged pairs a run with its prediction.
struct Judged {
  std::size_t row = 0;
  double measured = 0, predicted = 0, low = 0, high = 0;
  bool oom = false;  // as it ended
  double oom_probability = 0;
  double known = 0;  // how near runs are that were learned from, 0 to 1
  bool unlike_learned = false;
  std::vector<ResourceUse> use = {}, usual_use = {};  // as predicted, and the means of its device
  double measured_bytes = 0, predicted_bytes = 0;     // at the peak; measured 0: the run does not say

  double error() const;         // |predicted - measured| / measured
  double memory_error() const;  // the same of bytes. REQUIRES: they were measured
};

// The first takes the runs for those of the campaign that the model has learned from, the second for others'.
std::vector<Judged> judge(const TimeModel& model, const RunSet& set, const std::vector<std::size_t>& rows);
std::vector<Judged> judge(Predictor& model, const RunSet& set, const std::vector<std::size_t>& rows);

// Score rates predictions. Over the runs that ended well: relative errors, rank order, and the share inside
// their interval. Over all runs: how well running out of memory was predicted.
struct Score {
  std::size_t runs = 0;
  double mape = 0, median = 0, p95 = 0, spearman = 0, coverage = 0;
  std::size_t oom = 0, oom_missed = 0, oom_false = 0;
  // These three cover the runs whose records hold their peak memory.
  std::size_t memory_runs = 0;
  double memory_mape = 0, memory_median = 0;
};
Score score(const std::vector<Judged>& judged);

// UseScore covers the runs that ended well and have the use of a resource: the mean absolute error of a
// share, and that of always predicting the mean over the device's runs.
struct UseScore {
  std::string resource;
  const char* share = "";  // burst or peak; idle is the rest beside bursts, so its error is the same
  std::size_t runs = 0;
  double error = 0, usual_error = 0;
};
std::vector<UseScore> score_use(const RunSet& set, const std::vector<Judged>& judged);

// Returns Spearman's rank correlation, with mean ranks for ties; 0 where one side does not vary.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

// Split assigns rows to training, validation (which nothing here needs) and test.
struct Split {
  std::string name;  // what was held out
  std::vector<std::size_t> train, validation, test;
};

// `campaign` holds out each family on each device, and learns from other families on other devices alone.
enum class SplitKind : std::uint8_t { random, network, family, device, data, batch, epochs, campaign };
struct SplitKindName {
  const char* name;
  SplitKind kind;
};
inline constexpr SplitKindName kSplitKinds[] = {
    {"random", SplitKind::random}, {"network", SplitKind::network},  {"family", SplitKind::family},
    {"device", SplitKind::device}, {"data", SplitKind::data},        {"batch", SplitKind::batch},
    {"epochs", SplitKind::epochs}, {"campaign", SplitKind::campaign}};

struct SplitOptions {
  SplitKind kind = SplitKind::random;
  std::uint64_t seed = 1;
  bool twins_together = false;        // random: runs that differ in epochs or data set alone stay on one side
  std::vector<std::string> together;  // others: one split that holds out these values at once; empty: each
};

// SplitKind::random takes 60 % of each device's rows to train, 20 % to validate and 20 % to test. The other
// kinds make one split for each value, which has no rows to validate.
std::vector<Split> make_splits(const RunSet& set, const SplitOptions& options);

// Throws Error (internal) when a value that is held out is on both sides, or a row is.
void check_no_leak(const RunSet& set, const Split& split, SplitKind kind);

// Makes a split for few runs of a new device: `few` random runs of the target to adapt with, the others to
// test.
Split few_shot(const RunSet& set, const std::string& target, std::size_t few, std::uint64_t seed);
std::vector<std::size_t> rows_of_device(const RunSet& set, const std::string& device);

// NamedScores holds scores of parts by the parts' names, in the order of insertion.
using NamedScores = std::vector<std::pair<std::string, Score>>;

// Returns one score for each value of `key_of`, by name.
template <typename KeyOf>
NamedScores scores_by(const std::vector<Judged>& judged, const KeyOf& key_of) {
  std::map<std::string, std::vector<Judged>> parts;
  for (const Judged& one : judged) parts[key_of(one)].push_back(one);
  NamedScores scores;
  for (const auto& [name, part] : parts) scores.emplace_back(name, score(part));
  return scores;
}

}  // namespace trainyard::predict
