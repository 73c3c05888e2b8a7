#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analyze/folds.h"
#include "base/error.h"
#include "base/philox.h"
#include "predict/evaluate.h"

namespace trainyard::predict {
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
    case SplitKind::random:
      break;
  }
  return "";
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
               options.twins_together ? analyze::assign_group_folds(groups, kFifths, seed)
                                      : analyze::assign_folds(rows.size(), kFifths, seed),
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
  std::map<std::string, Split> by_value;
  for (const RunSet::Row& row : set.rows) by_value[held_value(row, options.kind)];
  if (by_value.size() < 2)
    fail(ErrorKind::config, "all runs are of '{}': nothing can be held out", by_value.begin()->first);
  for (const std::string& value : options.together)
    if (!by_value.contains(value)) fail(ErrorKind::config, "no run is of '{}': it cannot be held out", value);
  if (!options.together.empty()) return {split_together(set, options)};
  for (auto& [value, split] : by_value) {
    split.name = value;
    for (std::size_t r = 0; r < set.rows.size(); ++r)
      (held_value(set.rows[r], options.kind) == value ? split.test : split.train).push_back(r);
  }
  std::vector<Split> splits;
  for (auto& [value, split] : by_value) splits.push_back(std::move(split));
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
  const std::vector<int> place = analyze::assign_folds(rows.size(), static_cast<int>(rows.size()), seed);
  Split split{.name = target};
  for (std::size_t i = 0; i < rows.size(); ++i)
    (static_cast<std::size_t>(place[i]) < few ? split.train : split.test).push_back(rows[i]);
  return split;
}

}  // namespace trainyard::predict
