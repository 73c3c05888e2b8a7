#include "stats/change_points.h"

#include <numbers>

#include "base/philox.h"

namespace trainyard::stats {

namespace {

constexpr std::size_t kMostGroups = 400;  // bounds the quadratic search
constexpr std::size_t kShortest = 3;      // groups in a segment
constexpr double kFewSteps = 30;

// Returns the spread of the changes over `distance` steps; a steady drift does not count as spread.
double spread_of_changes(std::span<const double> series, std::size_t distance) {
  std::vector<double> changes;
  for (std::size_t i = distance; i < series.size(); ++i) changes.push_back(series[i] - series[i - distance]);
  return scaled_mad(changes);
}

}  // namespace

std::vector<double> without_spikes(std::span<const double> series) {
  // Hampel's identifier, over five steps.
  std::vector<double> local(series.size()), distances(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t first =
        std::min(i < 2 ? 0 : i - 2, series.size() - std::min<std::size_t>(5, series.size()));
    local[i] = median(series.subspan(first, std::min<std::size_t>(5, series.size())));
    distances[i] = std::abs(series[i] - local[i]);
  }
  const double limit = 4 * 1.4826 * median(distances);
  std::vector<double> smooth(series.begin(), series.end());
  for (std::size_t i = 0; i < series.size(); ++i)
    if (distances[i] > limit) smooth[i] = local[i];
  return smooth;
}

double lasting_noise(std::span<const double> series) {
  // Chakar, Lebarbier, Levy-Leduc & Robin (Bernoulli 2017): in an autoregression of order one the variances
  // of changes over two steps and over one are as 1 + rho to 1; medians of them do not mind changes of level.
  const double over_one = spread_of_changes(series, 1), over_two = spread_of_changes(series, 2);
  const double ratio = over_one > 0 ? over_two / over_one : 1;
  // Few steps cannot show much persistence; without this bound random variation alone hides clear changes in
  // them.
  const auto n = static_cast<double>(series.size());
  const double rho = std::clamp(ratio * ratio - 1, 0.0, 0.95 * n / (n + kFewSteps));
  const double deviation = over_one / std::sqrt(2 * (1 - rho));
  // Clocks are coarse: below a thousandth of a step nothing is noise.
  return std::max(deviation * std::sqrt((1 + rho) / (1 - rho)), 1e-3 * std::abs(median(series)));
}

std::vector<Segment> level_segments(std::span<const double> series, double noise) {
  const std::size_t group = (series.size() + kMostGroups - 1) / kMostGroups;
  const std::size_t groups = (series.size() + group - 1) / group;
  const auto boundary = [&](std::size_t index) { return std::min(index * group, series.size()); };
  std::vector<double> sums(groups + 1), squares(groups + 1);
  for (std::size_t g = 0; g < groups; ++g) {
    sums[g + 1] = sums[g];
    squares[g + 1] = squares[g];
    for (std::size_t i = boundary(g); i < boundary(g + 1); ++i) {
      const double value = (series[i] - series[0]) / noise;
      sums[g + 1] += value;
      squares[g + 1] += value * value;
    }
  }
  const auto cost = [&](std::size_t begin, std::size_t end) {
    const double sum = sums[end] - sums[begin];
    return squares[end] - squares[begin] - sum * sum / static_cast<double>(boundary(end) - boundary(begin));
  };

  // Optimal partitioning (Jackson et al. 2005): the cuts that minimise the squares about the levels, where
  // every cut costs a penalty.
  const double penalty = 5 * std::log(static_cast<double>(std::max<std::size_t>(series.size(), 20)));
  std::vector<double> best(groups + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> cut(groups + 1, 0);
  best[0] = -penalty;
  for (std::size_t end = kShortest; end <= groups; ++end)
    for (std::size_t begin = 0; begin + kShortest <= end; ++begin) {
      const double total = best[begin] + cost(begin, end) + penalty;
      if (total < best[end]) {
        best[end] = total;
        cut[end] = begin;
      }
    }

  std::vector<Segment> segments;
  for (std::size_t end = groups; end > 0; end = cut[end]) {
    const std::size_t begin = boundary(cut[end]), stop = boundary(end);
    segments.push_back({begin, stop, mean(series.subspan(begin, stop - begin))});
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

namespace {

constexpr double kLikelihoodDrop = 3.84;  // 95 % point of chi square with one degree of freedom
constexpr int kFewestDraws = 999, kMostDraws = 19'999;

class Random {
 public:
  std::uint32_t below(std::uint32_t end) {
    return static_cast<std::uint32_t>((std::uint64_t{word()} * end) >> 32);
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log((word() + 1.0) * 0x1p-32));
    return radius * std::cos(2 * std::numbers::pi * word() * 0x1p-32);
  }

 private:
  std::uint32_t word() { return philox_.block(drawn_++)[0]; }

  Philox philox_{1, stream_of("change points")};
  std::uint64_t drawn_ = 0;
};

// An arc is a stretch of builds that differs from the rest of its segment; it reaches one end of it, or
// neither.
struct Arc {
  std::size_t begin = 0, end = 0;
  double score = 0;  // squared distance of the levels, weighted: what two levels explain more than one
};

Arc best_arc(std::span<const double> levels) {
  const std::size_t count = levels.size();
  std::vector<double> sums(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i) sums[i + 1] = sums[i] + levels[i];
  Arc best;
  for (std::size_t begin = 0; begin < count; ++begin)
    for (std::size_t end = begin + 1; end <= count; ++end) {
      const auto inside = static_cast<double>(end - begin), outside = static_cast<double>(count) - inside;
      if (outside == 0) continue;
      const double sum = sums[end] - sums[begin];
      const double apart = sum / inside - (sums[count] - sum) / outside;
      if (const double score = apart * apart * inside * outside / (inside + outside); score > best.score)
        best = {begin, end, score};
    }
  return best;
}

// Returns the standard deviation of builds about their level, from the steps between neighbours, so that few
// changes of level do not count.
double wobble_of(std::span<const double> levels) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < levels.size(); ++i) steps.push_back(std::abs(levels[i] - levels[i - 1]));
  constexpr double kMadToDeviation = 1.4826;
  return steps.empty() ? 0 : kMadToDeviation * median(steps) / std::numbers::sqrt2;
}

// Returns the share of draws that reach the observed value, the observation among them. The loop stops as
// soon as the share is above the level for certain.
double p_value_by(double observed, double level, const std::function<double()>& draw) {
  const int draws = std::clamp(static_cast<int>(20 / level), kFewestDraws, kMostDraws);
  const double too_many = level * (draws + 1);
  int reached = 1;
  for (int i = 0; i < draws; ++i) {
    reached += draw() >= observed;
    if (reached > too_many) return static_cast<double>(reached) / (i + 2);
  }
  return static_cast<double>(reached) / (draws + 1);
}

class Segmentation {
 public:
  Segmentation(std::span<const BuildRuns> builds, const ChangeOptions& options) : options_(options) {
    for (const BuildRuns& runs : builds) {
      std::vector<double>& logs = logs_.emplace_back();
      for (const double value : runs) logs.push_back(std::log(value));
      levels_.push_back(centre_of(logs, options.centre));
    }
    wobble_ = wobble_of(levels_);
  }

  std::vector<Change> find() {
    split(0, levels_.size());
    drop_small_steps();
    std::vector<Change> changes;
    for (std::size_t i = 0; i < cuts_.size(); ++i) changes.push_back(describe(i));
    return changes;
  }

 private:
  struct Cut {
    std::size_t at;
    double p_value;
  };

  std::span<const double> levels(std::size_t begin, std::size_t end) const {
    return std::span(levels_).subspan(begin, end - begin);
  }

  // Tests for random differences among runs: runs are dealt anew to the builds of the segment.
  double p_value_of_runs(std::size_t begin, std::size_t end, double score) {
    std::vector<double> pool;
    for (std::size_t build = begin; build < end; ++build)
      pool.insert(pool.end(), logs_[build].begin(), logs_[build].end());
    std::vector<double> dealt(end - begin);
    return p_value_by(score, options_.level, [&] {
      for (std::size_t i = pool.size(); i > 1; --i)
        std::swap(pool[i - 1], pool[random_.below(static_cast<std::uint32_t>(i))]);
      std::size_t next = 0;
      for (std::size_t build = begin; build < end; ++build) {
        const std::size_t runs = logs_[build].size();
        dealt[build - begin] = centre_of(std::span(pool).subspan(next, runs), options_.centre);
        next += runs;
      }
      // The factor keeps rounding from separating equal arrangements.
      return best_arc(dealt).score * (1 + 1e-9);
    });
  }

  // Tests against wobble from build to build: it draws as many normal numbers as the segment has builds.
  double p_value_of_wobble(std::size_t begin, std::size_t end, double score) {
    if (levels_.size() < kBuildsThatShowWobble) return 0;
    if (wobble_ == 0) return 0;
    std::vector<double> drawn(levels_.size());
    return p_value_by(score / (wobble_ * wobble_), options_.level, [&] {
      for (double& level : drawn) level = random_.normal();
      const double wobble = wobble_of(drawn);
      return best_arc(std::span(drawn).first(end - begin)).score / (wobble * wobble);
    });
  }

  void split(std::size_t begin, std::size_t end) {
    if (end - begin < 2) return;
    const Arc arc = best_arc(levels(begin, end));
    if (arc.score == 0) return;
    double p_value = p_value_of_wobble(begin, end, arc.score);
    if (p_value <= options_.level) p_value = std::max(p_value, p_value_of_runs(begin, end, arc.score));
    if (p_value > options_.level) return;
    const std::size_t first = begin + arc.begin, second = begin + arc.end;
    split(begin, first);
    if (first > begin) cuts_.push_back({first, p_value});
    split(first, second);
    if (second < end) cuts_.push_back({second, p_value});
    split(second, end);
  }

  std::size_t begin_of(std::size_t segment) const { return segment == 0 ? 0 : cuts_[segment - 1].at; }
  std::size_t end_of(std::size_t segment) const {
    return segment == cuts_.size() ? levels_.size() : cuts_[segment].at;
  }
  double level_of(std::size_t segment) const { return mean(levels(begin_of(segment), end_of(segment))); }
  double step_at(std::size_t cut) const { return level_of(cut + 1) - level_of(cut); }

  void drop_small_steps() {
    const double least = std::log1p(options_.minimum_effect);
    while (!cuts_.empty()) {
      std::size_t smallest = 0;
      for (std::size_t i = 1; i < cuts_.size(); ++i)
        if (std::abs(step_at(i)) < std::abs(step_at(smallest))) smallest = i;
      if (std::abs(step_at(smallest)) >= least) return;
      cuts_.erase(cuts_.begin() + static_cast<std::ptrdiff_t>(smallest));
    }
  }

  // Returns the variance of a build's level: by the wobble, and at least the variance that its runs imply.
  double variance() const {
    double squares = 0, freedom = 0, runs = 0;
    for (const std::vector<double>& logs : logs_) {
      squares += population_variance(logs) * static_cast<double>(logs.size());
      freedom += static_cast<double>(logs.size()) - 1;
      runs += static_cast<double>(logs.size()) / static_cast<double>(logs_.size());
    }
    const double by_runs = freedom > 0 ? squares / freedom / runs : 0;
    return std::max(by_runs, levels_.size() < kBuildsThatShowWobble ? 0 : wobble_ * wobble_);
  }

  Change describe(std::size_t cut) const {
    const std::size_t begin = begin_of(cut), at = cuts_[cut].at, end = end_of(cut + 1);
    Change change{.at = at,
                  .last_before = at - 1,
                  .first_after = at,
                  .before = std::exp(level_of(cut)),
                  .after = std::exp(level_of(cut + 1)),
                  .p_value = cuts_[cut].p_value};
    const auto score_of = [&](std::size_t place) {
      const auto before = static_cast<double>(place - begin), after = static_cast<double>(end - place);
      const double step = mean(levels(place, end)) - mean(levels(begin, place));
      return step * step * before * after / (before + after);
    };
    const double enough = score_of(at) - kLikelihoodDrop * variance();
    for (std::size_t place = begin + 1; place < end; ++place)
      if (score_of(place) >= enough) {
        change.last_before = std::min(change.last_before, place - 1);
        change.first_after = std::max(change.first_after, place);
      }
    return change;
  }

  ChangeOptions options_;
  std::vector<std::vector<double>> logs_;  // by build: ratios become differences
  std::vector<double> levels_;
  double wobble_ = 0;
  Random random_;
  std::vector<Cut> cuts_;
};

}  // namespace

std::vector<Change> find_changes(std::span<const BuildRuns> builds, const ChangeOptions& options) {
  return Segmentation(builds, options).find();
}

}  // namespace trainyard::stats
