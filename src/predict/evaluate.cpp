#include "predict/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "record/statistics.h"

namespace trainyard::predict {
namespace {

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = static_cast<double>(first + end - 1) / 2;
    first = end;
  }
  return ranks;
}

Judged judged(const RunSet& set, std::size_t r, const Prediction& made) {
  return {r,
          set.rows[r].run.seconds,
          made.seconds,
          made.low_seconds,
          made.high_seconds,
          set.rows[r].run.end == RunEnd::oom,
          made.oom_probability,
          made.use,
          made.usual_use,
          set.rows[r].run.memory.peak_bytes,
          made.memory.total()};
}

}  // namespace

double Judged::error() const { return std::abs(predicted - measured) / measured; }
double Judged::memory_error() const { return std::abs(predicted_bytes - measured_bytes) / measured_bytes; }

std::vector<Judged> judge(const TimeModel& model, const RunSet& set, const std::vector<std::size_t>& rows) {
  std::vector<DeviceModel> on;
  for (const Device& device : set.devices) on.push_back(model.find(device.name, set.devices));
  std::vector<Judged> all;
  for (const std::size_t r : rows) {
    const RunSet::Row& row = set.rows[r];
    all.push_back(
        judged(set, r, predict(model, set.work(row), on[row.device], row.run.steps(), row.run.with_start)));
  }
  return all;
}

std::vector<Judged> judge(Predictor& model, const RunSet& set, const std::vector<std::size_t>& rows) {
  std::vector<JobDescription> asked;
  for (const std::size_t r : rows) {
    asked.push_back(describe(set.rows[r].run, set.devices[set.rows[r].device]));
    asked.back().network = set.rows[r].network;
  }
  const std::vector<Prediction> made = model.predict(asked);
  std::vector<Judged> all;
  for (std::size_t i = 0; i < rows.size(); ++i) all.push_back(judged(set, rows[i], made[i]));
  return all;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  TRAINYARD_CHECK(a.size() == b.size());
  if (a.empty()) return 0;
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

Score score(const std::vector<Judged>& judged) {
  Score result;
  std::vector<double> errors, memory_errors, measured, predicted;
  double inside = 0;
  for (const Judged& one : judged) {
    const bool foreseen = one.oom_probability >= kLikelyOom;
    if (one.oom) {
      ++result.oom;
      result.oom_missed += foreseen ? 0 : 1;
      continue;
    }
    result.oom_false += foreseen ? 1 : 0;
    errors.push_back(one.error());
    if (one.measured_bytes > 0) memory_errors.push_back(one.memory_error());
    measured.push_back(one.measured);
    predicted.push_back(one.predicted);
    inside += one.low <= one.measured && one.measured <= one.high ? 1 : 0;
  }
  result.runs = errors.size();
  if (errors.empty()) return result;
  result.mape = record::mean(errors);
  result.median = record::median(errors);
  result.p95 = record::quantile(errors, 0.95);
  result.spearman = rank_correlation(measured, predicted);
  result.coverage = inside / static_cast<double>(errors.size());
  result.memory_runs = memory_errors.size();
  if (memory_errors.empty()) return result;
  result.memory_mape = record::mean(memory_errors);
  result.memory_median = record::median(memory_errors);
  return result;
}

std::vector<UseScore> score_use(const RunSet& set, const std::vector<Judged>& judged) {
  constexpr std::pair<const char*, double ResourceUse::*> kShares[] = {{"burst", &ResourceUse::burst},
                                                                       {"peak", &ResourceUse::peak}};
  std::vector<UseScore> scores;
  const auto score_of = [&](const std::string& resource, const char* share) -> UseScore& {
    for (UseScore& one : scores)
      if (one.resource == resource && one.share == share) return one;
    return scores.emplace_back(UseScore{resource, share});
  };
  for (const Judged& one : judged) {
    if (one.oom) continue;
    for (const ResourceUse& measured : set.rows[one.row].run.use)
      for (std::size_t r = 0; r < one.use.size(); ++r) {
        if (one.use[r].resource != resource_key(measured.resource)) continue;
        for (const auto& [name, share] : kShares) {
          const double error = std::abs(one.use[r].*share - measured.*share);
          if (!std::isfinite(error)) continue;
          UseScore& score = score_of(one.use[r].resource, name);
          score.runs += 1;
          score.error += error;
          score.usual_error += std::abs(one.usual_use[r].*share - measured.*share);
        }
      }
  }
  for (UseScore& one : scores) {
    one.error /= static_cast<double>(one.runs);
    one.usual_error /= static_cast<double>(one.runs);
  }
  return scores;
}

}  // namespace trainyard::predict
