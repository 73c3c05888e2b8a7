#include "analyze/bursts.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "analyze/two_means.h"
#include "record/statistics.h"

namespace trainyard::analyze {
namespace {

constexpr double kLeastContrast = 0.1, kLeastOfCapacity = 0.01, kPeak = 0.9;
constexpr double kClearlyTwo =
    0.8;  // of the variance: two levels explain 0.64 of normal noise, 0.75 of even noise
constexpr double kLastingChanges = 0.5;  // of the changes that samples in random order would have

// The least value that at least a share q of the weight does not exceed.
double weighted_quantile(std::vector<std::pair<double, double>> weighted, double q) {
  std::sort(weighted.begin(), weighted.end());
  double all = 0, so_far = 0;
  for (const auto& [value, weight] : weighted) all += weight;
  for (const auto& [value, weight] : weighted)
    if ((so_far += weight) >= q * all) return value;
  return weighted.empty() ? 0 : weighted.back().first;
}

struct Level {
  double seconds = 0, mean = 0, p95 = 0;
};

// What the signal was in the samples that `in` picks.
template <typename Picks>
Level level_of(const Signal& signal, const Picks& in) {
  std::vector<std::pair<double, double>> weighted;
  Level level;
  double sum = 0;
  for (std::size_t i = 0; i < signal.values.size(); ++i) {
    if (!in(i)) continue;
    const double seconds = signal.duration(i);
    weighted.emplace_back(signal.values[i], seconds);
    level.seconds += seconds;
    sum += signal.values[i] * seconds;
  }
  if (level.seconds > 0) level.mean = sum / level.seconds;
  level.p95 = weighted_quantile(std::move(weighted), 0.95);
  return level;
}

// Whether samples stay on their side of the boundary longer than by chance (as in the runs test of Wald and
// Wolfowitz): then they are on two levels even where noise on these hides it.
bool stays_on_sides(const std::vector<double>& values, double boundary) {
  const auto count = static_cast<double>(values.size());
  double above = 0, changes = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    above += values[i] > boundary;
    changes += i > 0 && (values[i] > boundary) != (values[i - 1] > boundary);
  }
  return changes < kLastingChanges * 2 * above * (count - above) / count;
}

// Whether each sample is in a burst: the state changes where two samples in a row are of the other level.
std::vector<bool> states_of(const std::vector<double>& values, double boundary) {
  const std::size_t count = values.size();
  const auto above = [&](std::size_t i) { return values[i] > boundary; };
  bool state = count < 3 ? above(0) : above(0) + above(1) + above(2) >= 2;
  std::vector<bool> states(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (above(i) != state && i + 1 < count && above(i + 1) != state) state = !state;
    states[i] = state;
  }
  return states;
}

// The two levels of a signal, if both last. A sampler that was held up makes one sample that is far from all
// others: a level by itself, which hides theirs. Such lone ones are put among the others, and these are split
// again; `lone` counts them.
std::optional<TwoMeans> lasting_levels(const Signal& signal, std::size_t& lone) {
  constexpr int kMostSplits = 4;
  std::vector<double> values = signal.values;
  for (int split = 0; split < kMostSplits; ++split) {
    const std::optional<TwoMeans> levels = two_means(values, signal.durations());
    const double apart = levels ? levels->high - levels->low : 0;
    if (!levels || apart < kLeastContrast * levels->high ||
        apart < kLeastOfCapacity * signal.capacity.value_or(0))
      return std::nullopt;
    const std::vector<bool> states = states_of(values, levels->boundary());
    if (std::count(states.begin(), states.end(), states.front()) < std::ssize(states))
      return levels->explained >= kClearlyTwo || stays_on_sides(values, levels->boundary()) ? levels
                                                                                            : std::nullopt;
    for (double& value : values)
      if ((value > levels->boundary()) != states.front()) {
        value = states.front() ? levels->high : levels->low;
        ++lone;
      }
  }
  return std::nullopt;
}

Stretches describe(const std::vector<double>& lengths, const Level& level) {
  Stretches found{lengths.size(), level.seconds, 0, 0, 0, level.mean, level.p95};
  if (lengths.empty()) return found;
  found.mean_seconds = record::mean(lengths);
  found.median_seconds = record::median(lengths);
  found.longest_seconds = *std::max_element(lengths.begin(), lengths.end());
  return found;
}

void add_stretches(const Signal& signal, double boundary, BurstProfile& profile) {
  const std::vector<bool> states = states_of(signal.values, boundary);
  std::vector<double> lengths[2];
  for (std::size_t from = 0; from < states.size();) {
    std::size_t to = from;
    while (to < states.size() && states[to] == states[from]) ++to;
    lengths[states[from]].push_back(signal.edges[to] - signal.edges[from]);
    if (states[from]) profile.bursts.push_back({signal.edges[from], signal.edges[to]});
    from = to;
  }
  for (std::size_t i = 0; i < states.size(); ++i)
    profile.lone_samples += (signal.values[i] > boundary) != states[i];
  profile.burst = describe(lengths[1], level_of(signal, [&](std::size_t i) { return states[i]; }));
  profile.idle = describe(lengths[0], level_of(signal, [&](std::size_t i) { return !states[i]; }));
}

}  // namespace

BurstProfile find_bursts(const Signal& signal) {
  BurstProfile profile;
  const Level whole = level_of(signal, [](std::size_t) { return true; });
  profile.seconds = whole.seconds;
  profile.mean = profile.low = profile.high = whole.mean;
  profile.p95 = whole.p95;
  profile.most = *std::max_element(signal.values.begin(), signal.values.end());
  if (signal.capacity)
    profile.peak_share =
        level_of(signal, [&](std::size_t i) { return signal.values[i] > kPeak * *signal.capacity; }).seconds /
        whole.seconds;
  std::size_t lone = 0;
  if (const std::optional<TwoMeans> levels = lasting_levels(signal, lone)) {
    add_stretches(signal, levels->boundary(), profile);
    profile.low = levels->low;
    profile.high = levels->high;
    profile.explained = levels->explained;
    profile.period = find_period(signal);
  } else {  // one level, or another one in lone samples only
    profile.idle = describe({whole.seconds}, whole);
    profile.lone_samples = lone;
  }
  return profile;
}

}  // namespace trainyard::analyze
