#include "record/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/core.h>

#include "base/error.h"
#include "record/block_bootstrap.h"
#include "record/statistics.h"
#include "record/student_t.h"
#include "record/two_level.h"

namespace trainyard::record {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Logarithms of the runs' speeds on one node: ratios become differences, whatever the level of the node.
struct Node {
  std::vector<double> a, b;

  bool common() const { return !a.empty() && !b.empty(); }
};

using Nodes = std::map<std::string, Node>;

Nodes by_node(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b) {
  Nodes nodes;
  for (const MeasuredRun& run : a) nodes[run.node].a.push_back(std::log(median(run.speeds)));
  for (const MeasuredRun& run : b) nodes[run.node].b.push_back(std::log(median(run.speeds)));
  return nodes;
}

double squares(std::span<const double> samples) {
  return population_variance(samples) * static_cast<double>(samples.size());
}

// log(B / A) with its uncertainty.
struct Difference {
  double value = 0, standard_error = kInfinity, freedom = 0;
};

// Least squares for log speed = node + side: a paired test when each side ran once on each node, the pooled
// two-sample test when there is one node.
Difference within_nodes(const Nodes& nodes) {
  double weights = 0, weighted = 0, rest = 0, freedom = -1;
  for (const auto& [name, node] : nodes) {
    if (!node.common()) continue;
    const auto runs_a = static_cast<double>(node.a.size()), runs_b = static_cast<double>(node.b.size());
    const double weight = runs_a * runs_b / (runs_a + runs_b), change = mean(node.b) - mean(node.a);
    weights += weight;
    weighted += weight * change;
    rest += squares(node.a) + squares(node.b) + weight * change * change;
    freedom += runs_a + runs_b - 1;
  }
  const double value = weighted / weights;
  rest = std::max(rest - weights * value * value, 0.0);
  if (freedom < 1) return {value, kInfinity, 0};
  return {value, std::sqrt(rest / freedom / weights), freedom};
}

// Welch's test over the means of nodes.
Difference between_nodes(const Nodes& nodes) {
  std::vector<double> a, b;
  for (const auto& [name, node] : nodes) {
    if (!node.a.empty()) a.push_back(mean(node.a));
    if (!node.b.empty()) b.push_back(mean(node.b));
  }
  const double value = mean(b) - mean(a);
  if (a.size() < 2 || b.size() < 2) return {value, kInfinity, 0};
  const auto count_a = static_cast<double>(a.size()), count_b = static_cast<double>(b.size());
  const double error_a = sample_variance(a) / count_a, error_b = sample_variance(b) / count_b;
  const double error = error_a + error_b;
  const double spread = error_a * error_a / (count_a - 1) + error_b * error_b / (count_b - 1);
  return {value, std::sqrt(error), spread > 0 ? error * error / spread : count_a + count_b - 2};
}

double median_error(const std::vector<double>& speeds) {
  const Interval interval = median_interval(speeds);
  return (std::log(interval.high) - std::log(interval.low)) / 2 / t_quantile(0.975, kInfinity);
}

Difference over_steps(const MeasuredRun& a, const MeasuredRun& b, double run_spread) {
  const double error =
      std::hypot(median_error(a.speeds), median_error(b.speeds), run_spread * std::sqrt(2.0));
  return {std::log(median(b.speeds) / median(a.speeds)), error, kInfinity};
}

// Median over runs.
double typical_speed(std::span<const MeasuredRun> runs) {
  std::vector<double> speeds;
  for (const MeasuredRun& run : runs) speeds.push_back(median(run.speeds));
  return median(speeds);
}

void judge(Verdict& verdict, const Difference& difference, double minimum_effect) {
  const bool known = difference.freedom > 0;
  const double reach = known ? t_quantile(0.975, difference.freedom) * difference.standard_error : kInfinity;
  verdict.ratio = std::exp(difference.value);
  verdict.interval = {std::exp(difference.value - reach), std::exp(difference.value + reach)};
  if (!known)
    verdict.p_value = 1;
  else if (difference.standard_error > 0)
    verdict.p_value = two_sided_p(difference.value / difference.standard_error, difference.freedom);
  else
    verdict.p_value = difference.value == 0 ? 1 : 0;

  const double above = 1 + minimum_effect, below = 1 / above;
  if (verdict.interval.low >= below && verdict.interval.high <= above)
    verdict.outcome = Outcome::same;
  else if (verdict.p_value <= kAlarmLevel && verdict.ratio >= above)
    verdict.outcome = Outcome::faster;
  else if (verdict.p_value <= kAlarmLevel && verdict.ratio <= below)
    verdict.outcome = Outcome::slower;
  else
    verdict.outcome = Outcome::unclear;
}

// Why it is unclear, or what it rests on.
std::string explain(const Verdict& verdict, const Difference& difference, const VerdictOptions& options) {
  const double percent = 100 * options.minimum_effect;
  if (verdict.pairing == Pairing::steps)
    return fmt::format("one run a side: spread from run to run unknown, {:.3g} % assumed",
                       100 * options.assumed_run_spread);
  if (verdict.outcome != Outcome::unclear) return "";
  if (difference.freedom == 0) return "too few runs on nodes that both sides ran on";
  if (verdict.p_value <= kAlarmLevel) return fmt::format("a difference, but perhaps below {:.3g} %", percent);
  const double spread = difference.standard_error / std::sqrt(1.0 / verdict.runs_a + 1.0 / verdict.runs_b);
  return fmt::format("too few runs: about {} a side would show {:.3g} %",
                     runs_for_effect(spread, options.minimum_effect), percent);
}

}  // namespace

const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::same:
      return "SAME";
    case Outcome::faster:
      return "FASTER";
    case Outcome::slower:
      return "SLOWER";
    case Outcome::unclear:
      return "UNCLEAR";
  }
  return "";
}

const char* name(Pairing pairing) {
  switch (pairing) {
    case Pairing::nodes:
      return "nodes";
    case Pairing::runs:
      return "runs";
    case Pairing::node_means:
      return "node means";
    case Pairing::steps:
      return "steps";
  }
  return "";
}

Verdict compare_runs(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b,
                     const VerdictOptions& options) {
  TRAINYARD_CHECK(!a.empty() && !b.empty());
  const Nodes nodes = by_node(a, b);
  const auto common = static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](const auto& entry) { return entry.second.common(); }));
  Verdict verdict;
  verdict.speed_a = typical_speed(a);
  verdict.speed_b = typical_speed(b);
  verdict.runs_a = static_cast<int>(a.size());
  verdict.runs_b = static_cast<int>(b.size());

  Difference difference;
  if (a.size() == 1 && b.size() == 1) {
    verdict.pairing = Pairing::steps;
    difference = over_steps(a.front(), b.front(), options.assumed_run_spread);
  } else if (const Difference within = common > 0 ? within_nodes(nodes) : Difference{}; within.freedom > 0) {
    verdict.pairing = nodes.size() == 1 ? Pairing::runs : Pairing::nodes;
    difference = within;
  } else {
    verdict.pairing = Pairing::node_means;
    difference = between_nodes(nodes);
  }
  verdict.nodes = verdict.pairing == Pairing::node_means ? static_cast<int>(nodes.size()) : common;
  judge(verdict, difference, options.minimum_effect);

  // One node on a side and another one on the other: node and setting cannot be told apart.
  if (common == 0 && (difference.freedom == 0 || verdict.pairing == Pairing::steps)) {
    verdict.outcome = Outcome::unclear;
    verdict.note = "the sides ran on different nodes: this may be the nodes' difference";
  } else {
    verdict.note = explain(verdict, difference, options);
  }
  return verdict;
}

}  // namespace trainyard::record
