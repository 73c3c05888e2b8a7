#include "record/verdict.h"

#include "base/error.h"

namespace trainyard::record {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Two tests share the level (weighted Bonferroni). With few runs the permutation test gets nearly all of it:
// one delayed run of five leaves p = 12 / 252 = 0.0476. With many runs Student's test, which uses all of them
// and not the best alone, gets half.
constexpr double kShareOfPermutations = 0.96, kShareOfPermutationsOfMany = 0.5;
constexpr double kFewLabellings = 0.002;  // smallest p-value; seven runs against seven have 0.0006
// Below four runs a side permuted labels cannot claim anything. Speeds are not quite normal, so Student alone
// gets less.
constexpr double kShareOfStudentAlone = 0.8;

// Nodes holds logarithms of the values on one node: ratios become differences, whatever the level of the
// node.
using Nodes = std::map<std::string, stats::Stratum>;

Nodes by_node(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b) {
  Nodes nodes;
  for (const MeasuredRun& run : a) nodes[run.node].a.push_back(std::log(run.value));
  for (const MeasuredRun& run : b) nodes[run.node].b.push_back(std::log(run.value));
  return nodes;
}

// NodePlacements is as by_node, with a stratum for each placement of a node's cores, without runs of unknown
// placement. A hypervisor that moves the cores of a virtual machine lets them share a cache at times (a
// hand-off takes some 25 ns) and not at others (some 150 ns), which makes small networks slower by a factor
// up to two, for tens of seconds.
using NodePlacements = std::map<std::pair<std::string, int>, stats::Stratum>;

NodePlacements by_placement(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b) {
  std::map<std::string, std::vector<double>> distances;  // of each node, in order
  for (const auto& side : {a, b})
    for (const MeasuredRun& run : side)
      if (run.core_distance > 0) distances[run.node].push_back(run.core_distance);
  for (auto& [node, of_node] : distances) std::sort(of_node.begin(), of_node.end());
  const auto placement = [&](const MeasuredRun& run) {
    const std::vector<double>& of_node = distances.at(run.node);
    int number = 0;
    for (std::size_t i = 1; i < of_node.size() && of_node[i] <= run.core_distance; ++i)
      number += of_node[i] > (1 + kDistanceGap) * of_node[i - 1];
    return number;
  };
  NodePlacements strata;
  for (const MeasuredRun& run : a)
    if (run.core_distance > 0) strata[{run.node, placement(run)}].a.push_back(std::log(run.value));
  for (const MeasuredRun& run : b)
    if (run.core_distance > 0) strata[{run.node, placement(run)}].b.push_back(std::log(run.value));
  return strata;
}

bool are_known_of_both(const NodePlacements& placements) {
  const auto has = [&](auto side) {
    return std::any_of(placements.begin(), placements.end(),
                       [&](const auto& stratum) { return !(stratum.second.*side).empty(); });
  };
  return has(&stats::Stratum::a) && has(&stats::Stratum::b);
}

template <typename Strata>
std::vector<stats::Stratum> common(const Strata& strata) {
  std::vector<stats::Stratum> of_both;
  for (const auto& [key, stratum] : strata)
    if (!stratum.a.empty() && !stratum.b.empty()) of_both.push_back(stratum);
  return of_both;
}

// Tells whether there are runs whose placement is not known.
bool leaves_out(const NodePlacements& placements, std::span<const MeasuredRun> a,
                std::span<const MeasuredRun> b) {
  std::size_t placed = 0;
  for (const auto& [key, stratum] : placements) placed += stratum.a.size() + stratum.b.size();
  return placed < a.size() + b.size();
}

// Counts the nodes that have a stratum with runs of both sides.
int count_nodes(const NodePlacements& strata) {
  std::set<std::string> nodes;
  for (const auto& [key, stratum] : strata)
    if (!stratum.a.empty() && !stratum.b.empty()) nodes.insert(key.first);
  return static_cast<int>(nodes.size());
}

// Reduces every node to one figure.
stats::Stratum node_levels(const Nodes& nodes, stats::Centre centre) {
  stats::Stratum levels;
  for (const auto& [name, node] : nodes) {
    if (!node.a.empty()) levels.a.push_back(stats::centre_of(node.a, centre));
    if (!node.b.empty()) levels.b.push_back(stats::centre_of(node.b, centre));
  }
  return levels;
}

double squares(std::span<const double> samples) {
  return stats::population_variance(samples) * static_cast<double>(samples.size());
}

// Difference is log(B / A) by Student's test; freedom 0: the test cannot tell.
struct Difference {
  double value = 0, standard_error = kInfinity, freedom = 0;

  double reach() const {
    return freedom > 0 ? stats::t_quantile(0.975, freedom) * standard_error : kInfinity;
  }
  double p_value() const {
    if (!(freedom > 0)) return 1;
    if (standard_error > 0) return stats::two_sided_p(value / standard_error, freedom);
    return value == 0 ? 1 : 0;
  }
};

// Solves least squares for log value = stratum + side: a paired test when each side ran once in each stratum,
// the pooled two-sample test when there is one.
Difference within_strata(std::span<const stats::Stratum> strata) {
  double weights = 0, weighted = 0, rest = 0, freedom = -1;
  for (const stats::Stratum& stratum : strata) {
    const auto runs_a = static_cast<double>(stratum.a.size()), runs_b = static_cast<double>(stratum.b.size());
    const double weight = runs_a * runs_b / (runs_a + runs_b),
                 change = stats::mean(stratum.b) - stats::mean(stratum.a);
    weights += weight;
    weighted += weight * change;
    rest += squares(stratum.a) + squares(stratum.b) + weight * change * change;
    freedom += runs_a + runs_b - 1;
  }
  const double value = weighted / weights;
  rest = std::max(rest - weights * value * value, 0.0);
  if (freedom < 1) return {value, kInfinity, 0};
  return {value, std::sqrt(rest / freedom / weights), freedom};
}

bool can_tell(std::span<const stats::Stratum> strata) {
  return !strata.empty() && within_strata(strata).freedom > 0;
}

void judge(Verdict& verdict, const VerdictOptions& options) {
  const double above = 1 + options.minimum_effect, below = 1 / above;
  const bool certain = verdict.p_value <= kAlarmLevel;
  if (verdict.interval.low >= below && verdict.interval.high <= above)
    verdict.outcome = Outcome::same;
  else if (certain && (verdict.ratio >= above || verdict.ratio <= below))
    verdict.outcome = (verdict.ratio > 1) == options.more_is_better ? Outcome::better : Outcome::worse;
  else
    verdict.outcome = Outcome::unclear;
}

// REQUIRES: `enough` is monotonic: a number above one that is enough is enough too.
template <typename Enough>
int fewest_runs(const Enough& enough) {
  constexpr int kMostRuns = 100'000;  // more than anybody will make
  int low = 1, high = 2;
  while (high < kMostRuns && !enough(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

// Returns the runs a side after which the interval, around the current ratio, would lie on one side of the
// minimum effect.
int runs_to_settle(const Verdict& verdict, double spread, double minimum_effect) {
  const double change = std::abs(std::log(verdict.ratio)), least = std::log1p(minimum_effect);
  const double room = change >= least ? change : std::max(least - change, least / 4);
  const int runs = fewest_runs([&](int each) {
    return stats::t_quantile(0.975, 2.0 * each - 2) * spread * std::sqrt(2.0 / each) <= room;
  });
  return std::max({runs, verdict.runs_a + 1, verdict.runs_b + 1});
}

// Explains why the verdict is unclear.
std::string explain(const Verdict& verdict, const Difference& difference, double minimum_effect) {
  const double percent = 100 * minimum_effect;
  if (difference.freedom == 0) return "too few runs on nodes that both sides ran on";
  if (verdict.p_value <= kAlarmLevel) return fmt::format("a difference, but perhaps below {:.3g} %", percent);
  const double spread = difference.standard_error / std::sqrt(1.0 / verdict.runs_a + 1.0 / verdict.runs_b);
  return fmt::format("too few runs: about {} a side would tell whether it is {:.3g} %",
                     runs_to_settle(verdict, spread, minimum_effect), percent);
}

Verdict over_steps(const MeasuredRun& a, const MeasuredRun& b, const VerdictOptions& options) {
  const double error =
      std::hypot(a.relative_error, b.relative_error, options.assumed_run_spread * std::sqrt(2.0));
  const Difference difference{std::log(b.value / a.value), error, kInfinity};
  Verdict verdict{.value_a = a.value, .value_b = b.value, .ratio = b.value / a.value};
  verdict.runs_a = verdict.runs_b = 1;
  verdict.pairing = Pairing::steps;
  verdict.nodes = a.node == b.node ? 1 : 2;
  verdict.p_value = difference.p_value();
  verdict.interval = {std::exp(difference.value - difference.reach()),
                      std::exp(difference.value + difference.reach())};
  judge(verdict, options);
  verdict.note = fmt::format("one run a side: spread from run to run unknown, {:.3g} % assumed",
                             100 * options.assumed_run_spread);
  return verdict;
}

double p_value_of(std::span<const stats::Stratum> strata, stats::Centre centre,
                  const Difference& difference) {
  if (stats::smallest_p_value(strata) > kShareOfPermutations * kAlarmLevel)
    return std::min(difference.p_value() / kShareOfStudentAlone, 1.0);
  const double share =
      stats::smallest_p_value(strata) > kFewLabellings ? kShareOfPermutations : kShareOfPermutationsOfMany;
  return std::min(
      {stats::permutation_p_value(strata, centre) / share, difference.p_value() / (1 - share), 1.0});
}

Verdict over_strata(std::span<const stats::Stratum> strata, const VerdictOptions& options) {
  Verdict verdict;
  for (const stats::Stratum& stratum : strata) {
    verdict.runs_a += static_cast<int>(stratum.a.size());
    verdict.runs_b += static_cast<int>(stratum.b.size());
  }
  const stats::Centre centre = centre_for(options);
  const stats::Centres centres = stats::centres_of(strata, centre);
  verdict.value_a = std::exp(centres.a);
  verdict.value_b = std::exp(centres.b);
  verdict.ratio = verdict.value_b / verdict.value_a;
  const Difference difference = within_strata(strata);
  verdict.p_value = p_value_of(strata, centre, difference);
  const double value = centres.difference(), reach = difference.reach();
  const stats::Interval interval =
      stats::permutation_interval(strata, centre).value_or(stats::Interval{value - reach, value + reach});
  verdict.interval = {std::exp(interval.low), std::exp(interval.high)};
  judge(verdict, options);
  if (verdict.outcome == Outcome::unclear)
    verdict.note = explain(verdict, difference, options.minimum_effect);
  return verdict;
}

}  // namespace

stats::Centre centre_for(const VerdictOptions& options) {
  if (!options.noise_worsens) return stats::Centre::median;
  return options.more_is_better ? stats::Centre::highest_third : stats::Centre::lowest_third;
}

const char* name(Pairing pairing) {
  switch (pairing) {
    case Pairing::nodes:
      return "nodes";
    case Pairing::runs:
      return "runs";
    case Pairing::distances:
      return "core distances";
    case Pairing::node_levels:
      return "node levels";
    case Pairing::steps:
      return "steps";
  }
  return "";
}

Verdict compare_runs(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b,
                     const VerdictOptions& options) {
  TRAINYARD_CHECK(!a.empty() && !b.empty());
  const Nodes nodes = by_node(a, b);
  const NodePlacements placements = by_placement(a, b);
  const std::vector<stats::Stratum> same_node = common(nodes), same_placement = common(placements);
  const bool moved =
      are_known_of_both(placements) && (placements.size() > nodes.size() || leaves_out(placements, a, b));
  const stats::Stratum levels = node_levels(nodes, centre_for(options));
  Verdict verdict;
  if (a.size() == 1 && b.size() == 1) {
    verdict = over_steps(a.front(), b.front(), options);
  } else if (can_tell(same_placement) && moved) {
    verdict = over_strata(same_placement, options);
    verdict.pairing = Pairing::distances;
    verdict.nodes = count_nodes(placements);
  } else if (can_tell(same_node)) {
    verdict = over_strata(same_node, options);
    verdict.pairing = nodes.size() == 1 ? Pairing::runs : Pairing::nodes;
    verdict.nodes = static_cast<int>(same_node.size());
  } else {
    verdict = over_strata(std::span(&levels, 1), options);
    verdict.pairing = Pairing::node_levels;
    verdict.nodes = static_cast<int>(nodes.size());
    verdict.runs_a = static_cast<int>(a.size());
    verdict.runs_b = static_cast<int>(b.size());
  }
  // With one node on a side and other nodes on the other side, node and side cannot be told apart.
  if (same_node.empty() && (levels.a.size() < 2 || levels.b.size() < 2)) {
    verdict.outcome = Outcome::unclear;
    verdict.note = "the sides ran on different nodes: this may be the nodes' difference";
  } else if (!same_node.empty() && moved && !can_tell(same_placement)) {
    verdict.outcome = Outcome::unclear;
    verdict.note = "the cores were placed differently for each side: this may be the machine's difference";
  }
  return verdict;
}

}  // namespace trainyard::record
