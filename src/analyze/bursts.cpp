#include "analyze/bursts.h"

#include <iterator>

#include "record/unit.h"
#include "stats/statistics.h"

namespace trainyard::analyze {

namespace {

constexpr std::size_t kMostPoints = 4096;  // the correlations of these take some milliseconds
constexpr double kClear = 0.5;             // least correlation
constexpr double kAsGood = 0.7;            // of the best, which may be a multiple that falls on samples
constexpr std::size_t kLeastRepeats = 3;

// Returns the autocorrelation of the series for every lag below a third of its length.
std::vector<double> autocorrelations(std::vector<double> series) {
  const double mean = stats::mean(series), variance = stats::population_variance(series);
  if (variance == 0) return {};
  for (double& value : series) value -= mean;
  std::vector<double> correlations;
  for (std::size_t lag = 0; lag <= series.size() / kLeastRepeats; ++lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < series.size(); ++i) sum += series[i] * series[i + lag];
    correlations.push_back(sum / (static_cast<double>(series.size() - lag) * variance));
  }
  return correlations;
}

// Returns the offset, from the middle one of three neighbours, of the vertex of the parabola through them.
double top_offset(double before, double top, double after) {
  const double bend = before - 2 * top + after;
  return bend < 0 ? std::clamp(0.5 * (before - after) / bend, -0.5, 0.5) : 0;
}

}  // namespace

std::optional<Period> find_period(const Signal& signal) {
  const Signal even = resampled(signal, kMostPoints);
  const std::vector<double> r = autocorrelations(even.values);
  // Correlations before the first negative one only show that the signal is smooth.
  const auto first = std::find_if(r.begin(), r.end(), [](double value) { return value < 0; });
  if (r.end() - first < 2) return std::nullopt;
  const double most = *std::max_element(first, r.end() - 1);
  if (most < kClear) return std::nullopt;
  for (auto at = first; at + 1 != r.end(); ++at) {
    if (*at < kAsGood * most || *at < *(at - 1) || *at < *(at + 1)) continue;
    const double lag = static_cast<double>(at - r.begin()) + top_offset(*(at - 1), *at, *(at + 1));
    return Period{lag * even.duration(0), std::min(*at, 1.0)};
  }
  return std::nullopt;
}

namespace {

using record::TraceColumn;

// cpu_seconds -> cpu_cores, X_bytes -> X_bytes_per_second.
std::string name_of_rate(const std::string& counter) {
  if (record::unit_in_name(counter).is_time()) return std::string(record::without_unit(counter)) + "_cores";
  return counter + "_per_second";
}

// Fills each gap with the last known value, or with the first known one at the start.
std::vector<double> without_gaps(std::vector<double> values) {
  const auto known = [](double value) { return std::isfinite(value); };
  const auto first = std::find_if(values.begin(), values.end(), known);
  if (first == values.end()) return {};
  std::fill(values.begin(), first, *first);
  for (std::size_t i = 1; i < values.size(); ++i)
    if (!known(values[i])) values[i] = values[i - 1];
  return values;
}

}  // namespace

std::vector<double> Signal::durations() const {
  std::vector<double> seconds(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) seconds[i] = duration(i);
  return seconds;
}

std::vector<Signal> signals_of(const record::ResourceTrace& trace) {
  std::vector<Signal> signals;
  for (const TraceColumn& column : trace.columns) {
    std::vector<double> values = without_gaps(column.values);
    if (values.empty() || record::unit_in_name(column.name) == record::unit::joules)
      continue;  // power is a column of its own
    // A sample taken at the very start covers no time.
    const bool from_zero = trace.seconds.front() > 0;
    Signal signal{column.name, trace.seconds, {}, column.capacity};
    if (column.kind == TraceColumn::Kind::counter) {
      signal.name = name_of_rate(column.name);
      if (from_zero) {
        signal.edges.insert(signal.edges.begin(), 0.0);
        values.insert(values.begin(), 0.0);
      }
      for (std::size_t i = 1; i < values.size(); ++i)
        signal.values.push_back(std::max(values[i] - values[i - 1], 0.0) / signal.duration(i - 1));
    } else {
      if (from_zero) signal.edges.insert(signal.edges.begin(), 0.0);
      signal.values.assign(values.begin() + (from_zero ? 0 : 1), values.end());
    }
    if (!signal.values.empty()) signals.push_back(std::move(signal));
  }
  return signals;
}

Signal resampled(const Signal& signal, std::size_t parts) {
  if (signal.values.size() < parts) parts = signal.values.size();
  const double from = signal.edges.front(), length = signal.edges.back() - from;
  Signal means{signal.name, {}, std::vector<double>(parts), signal.capacity};
  for (std::size_t part = 0; part <= parts; ++part)
    means.edges.push_back(from + length * static_cast<double>(part) / static_cast<double>(parts));
  for (std::size_t part = 0, i = 0; part < parts; ++part) {
    double sum = 0;
    for (;; ++i) {
      const double begin = std::max(signal.edges[i], means.edges[part]),
                   end = std::min(signal.edges[i + 1], means.edges[part + 1]);
      sum += signal.values[i] * std::max(end - begin, 0.0);
      if (signal.edges[i + 1] >= means.edges[part + 1] || i + 1 == signal.values.size()) break;
    }
    means.values[part] = sum / means.duration(part);
  }
  return means;
}

namespace {

constexpr double kLeastContrast = 0.1, kLeastOfCapacity = 0.01, kPeak = 0.9;
constexpr double kClearlyTwo =
    0.8;  // of the variance: two levels explain 0.64 of normal noise, 0.75 of even noise
constexpr double kLastingChanges = 0.5;  // of the changes that samples in random order would have

// Returns the least value that at least a share q of the weight does not exceed.
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

// Summarises the signal over the samples that `in` picks.
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

// Tells whether samples stay on their side of the boundary longer than random ones would (as in the runs test
// of Wald and Wolfowitz). If they do, the signal has two levels even where noise hides them.
bool stays_on_sides(const std::vector<double>& values, double boundary) {
  const auto count = static_cast<double>(values.size());
  double above = 0, changes = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    above += values[i] > boundary;
    changes += i > 0 && (values[i] > boundary) != (values[i - 1] > boundary);
  }
  return changes < kLastingChanges * 2 * above * (count - above) / count;
}

// Tells for each sample whether it is in a burst. The state changes where two samples in a row are of the
// other level.
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

// Returns the two levels of a signal, if both last. A sampler that was held up makes one sample far from all
// others, which would become a level by itself and hide the real two. Such lone samples are put among the
// others, and these are split again; `lone` counts them.
std::optional<stats::TwoMeans> lasting_levels(const Signal& signal, std::size_t& lone) {
  constexpr int kMostSplits = 4;
  std::vector<double> values = signal.values;
  for (int split = 0; split < kMostSplits; ++split) {
    const std::optional<stats::TwoMeans> levels = stats::two_means(values, signal.durations());
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
  found.mean_seconds = stats::mean(lengths);
  found.median_seconds = stats::median(lengths);
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
  if (const std::optional<stats::TwoMeans> levels = lasting_levels(signal, lone)) {
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
