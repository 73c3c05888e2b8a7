#include "predict/analytic/evaluate.h"

#include "stats/least_squares.h"

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
          made.known,
          made.unlike_learned,
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
  for (const DeviceSheet& device : set.devices) on.push_back(model.find(device.name, set.devices));
  std::vector<Judged> all;
  for (const std::size_t r : rows) {
    const RunSet::Row& row = set.rows[r];
    all.push_back(judged(
        set, r,
        predict(model, set.work(row), on[row.device], row.run.steps(), row.run.with_start, Campaign::same)));
  }
  return all;
}

std::vector<Judged> judge(Predictor& model, const RunSet& set, const std::vector<std::size_t>& rows) {
  std::vector<JobDescription> asked;
  for (const std::size_t r : rows)
    asked.push_back(describe(set.rows[r].run, set.devices[set.rows[r].device]));
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
  result.mape = stats::mean(errors);
  result.median = stats::median(errors);
  result.p95 = stats::quantile(errors, 0.95);
  result.spearman = rank_correlation(measured, predicted);
  result.coverage = inside / static_cast<double>(errors.size());
  result.memory_runs = memory_errors.size();
  if (memory_errors.empty()) return result;
  result.memory_mape = stats::mean(memory_errors);
  result.memory_median = stats::median(memory_errors);
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

namespace {

constexpr int kFifths = 5;  // three to learn from, one to choose by, one to judge by

std::string held_value(const RunSet::Row& row, SplitKind kind) {
  switch (kind) {
    case SplitKind::network:
      return row.run.network;
    case SplitKind::family:
      return family_of(row.run.network);
    case SplitKind::device:
      return row.run.device;
    case SplitKind::data:
      return row.run.dataset;
    case SplitKind::batch:
      return std::to_string(row.run.batch);
    case SplitKind::epochs:
      return fmt::format("{}", row.run.epochs);
    case SplitKind::campaign:
      return family_of(row.run.network) + " on " + row.run.device;
    case SplitKind::random:
      break;
  }
  return "";
}

// Returns whether rows with this value may be learned from when `held` is held out.
bool is_apart(const RunSet::Row& row, const RunSet::Row& held, SplitKind kind) {
  if (kind == SplitKind::campaign)
    return row.run.device != held.run.device && family_of(row.run.network) != family_of(held.run.network);
  return held_value(row, kind) != held_value(held, kind);
}

void add_fifths(const std::vector<std::size_t>& rows, const std::vector<int>& fold, Split& split) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    (fold[i] < 3 ? split.train : fold[i] == 3 ? split.validation : split.test).push_back(rows[i]);
}

Split random_split(const RunSet& set, const SplitOptions& options) {
  Split split{.name = "random"};
  for (std::size_t d = 0; d < set.devices.size(); ++d) {
    std::vector<std::size_t> rows, groups;
    std::map<std::tuple<std::string, std::int64_t, ops::Rule>, std::size_t> twins;
    for (std::size_t r = 0; r < set.rows.size(); ++r) {
      const TableRun& run = set.rows[r].run;
      if (set.rows[r].device != d) continue;
      rows.push_back(r);
      groups.push_back(
          twins.try_emplace({run.network, run.batch, run.optimizer}, twins.size()).first->second);
    }
    const std::uint64_t seed = mix_streams(options.seed, d);
    add_fifths(rows,
               options.twins_together ? stats::assign_group_folds(groups, kFifths, seed)
                                      : stats::assign_folds(rows.size(), kFifths, seed),
               split);
  }
  return split;
}

Split split_together(const RunSet& set, const SplitOptions& options) {
  const auto held = [&](const RunSet::Row& row) {
    const std::string value = held_value(row, options.kind);
    return std::find(options.together.begin(), options.together.end(), value) != options.together.end();
  };
  Split split;
  for (const std::string& value : options.together) split.name += (split.name.empty() ? "" : ", ") + value;
  for (std::size_t r = 0; r < set.rows.size(); ++r)
    (held(set.rows[r]) ? split.test : split.train).push_back(r);
  if (split.train.empty())
    fail(ErrorKind::config, "{} are all there is: nothing is left to learn from", split.name);
  return split;
}

}  // namespace

std::vector<Split> make_splits(const RunSet& set, const SplitOptions& options) {
  if (options.kind == SplitKind::random) return {random_split(set, options)};
  std::map<std::string, const RunSet::Row*> by_value;  // one of its rows
  for (const RunSet::Row& row : set.rows) by_value.emplace(held_value(row, options.kind), &row);
  if (by_value.size() < 2)
    fail(ErrorKind::config, "all runs are of '{}': nothing can be held out", by_value.begin()->first);
  for (const std::string& value : options.together)
    if (!by_value.contains(value)) fail(ErrorKind::config, "no run is of '{}': it cannot be held out", value);
  if (!options.together.empty()) return {split_together(set, options)};
  std::vector<Split> splits;
  for (const auto& [value, held] : by_value) {
    Split split{.name = value};
    for (std::size_t r = 0; r < set.rows.size(); ++r) {
      if (held_value(set.rows[r], options.kind) == value) split.test.push_back(r);
      if (is_apart(set.rows[r], *held, options.kind)) split.train.push_back(r);
    }
    if (split.train.empty())
      fail(ErrorKind::config, "'{}' is held out: nothing is left to learn from", value);
    splits.push_back(std::move(split));
  }
  return splits;
}

void check_no_leak(const RunSet& set, const Split& split, SplitKind kind) {
  std::set<std::size_t> rows;
  std::set<std::string> values;
  for (const auto* part : {&split.train, &split.validation})
    for (const std::size_t r : *part) {
      TRAINYARD_CHECK(rows.insert(r).second);
      values.insert(held_value(set.rows[r], kind));
    }
  for (const std::size_t r : split.test) {
    TRAINYARD_CHECK(rows.insert(r).second);
    TRAINYARD_CHECK(kind == SplitKind::random || !values.contains(held_value(set.rows[r], kind)));
  }
}

std::vector<std::size_t> rows_of_device(const RunSet& set, const std::string& device) {
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < set.rows.size(); ++r)
    if (same_device_name(set.rows[r].run.device, device)) rows.push_back(r);
  return rows;
}

Split few_shot(const RunSet& set, const std::string& target, std::size_t few, std::uint64_t seed) {
  std::vector<std::size_t> rows;
  for (const std::size_t r : rows_of_device(set, target))
    if (set.rows[r].run.end == RunEnd::ok) rows.push_back(r);
  if (few >= rows.size())
    fail(ErrorKind::config, "{} runs of '{}' to adapt with, but it has {} that ended well", few, target,
         rows.size());
  const std::vector<int> place = stats::assign_folds(rows.size(), static_cast<int>(rows.size()), seed);
  Split split{.name = target};
  for (std::size_t i = 0; i < rows.size(); ++i)
    (static_cast<std::size_t>(place[i]) < few ? split.train : split.test).push_back(rows[i]);
  return split;
}

}  // namespace trainyard::predict
