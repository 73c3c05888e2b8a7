#include "record/metric.h"

#include "base/json.h"
#include "base/text.h"

namespace trainyard::record {

namespace {

constexpr const char* kToAccuracy = "seconds_to_accuracy";
constexpr const char* kMedianSpeed = "median_images_per_second";

struct StepFigure {
  const char* name;
  double StepStatistics::*field;
};

constexpr std::array kStepFigures = {StepFigure{"mean_step_seconds", &StepStatistics::mean},
                                     StepFigure{"median_step_seconds", &StepStatistics::median},
                                     StepFigure{"p95_step_seconds", &StepStatistics::p95},
                                     StepFigure{"p99_step_seconds", &StepStatistics::p99}};

// Records of programs that are not ours have names that are not in the list.
Unit unit_of(std::string_view name) {
  if (name == kToAccuracy) return unit::seconds;
  const Figure* figure = find_figure(name, FigureKind::number);
  return figure != nullptr ? figure->unit : unit_in_name(name);
}

// The unit decides where the list does not say it: losses and costs of the machine are better when less,
// every other figure of runs is a yield.
bool less_is_better(std::string_view name) {
  const Figure* figure = find_figure(name, FigureKind::number);
  if (figure != nullptr && figure->better != Better::none) return figure->better == Better::less;
  const Unit unit = unit_of(name);
  if (unit.is_speed()) return false;
  constexpr std::array kCostly = {Quantity::seconds, Quantity::bytes, Quantity::joules, Quantity::watts};
  constexpr std::array kCosts = {"_loss", "_wait_fraction", "staleness"};
  return unit.per == Per::step || std::find(kCostly.begin(), kCostly.end(), unit.quantity) != kCostly.end() ||
         std::any_of(kCosts.begin(), kCosts.end(), [&](const char* cost) { return name.ends_with(cost); });
}

double value_or_nan(const RunRecord& run, const Metric& metric) {
  const double none = std::nan("");
  if (metric.name == "images_per_second") return run.images_per_second.value_or(none);
  // References hold the figure without its steps, and published runs have one speed only.
  const bool is_speed_of_steps = metric.name == kMedianSpeed || metric.name == kQuietSpeed;
  if (is_speed_of_steps && run.statistics.steps == 0)
    return run.any_figure_or(metric.name, run.images_per_second.value_or(none));
  if (metric.name == kQuietSpeed) return run.images_per_step / run.statistics.p5;
  if (metric.name == "wall_seconds") return run.wall_seconds;
  if (metric.name == kToAccuracy) return seconds_to_accuracy(run, metric.accuracy.value_or(1)).value_or(none);
  for (const StepFigure& figure : kStepFigures)
    if (metric.name == figure.name && run.statistics.steps > 0) return run.statistics.*figure.field;
  return run.any_figure_or(metric.name, none);
}

// Returns the error within the run from its steps, for metrics that are about steps.
double relative_error(const RunRecord& run, const Metric& metric) {
  const StepStatistics& steps = run.statistics;
  if (steps.steps == 0) return 0;
  const auto error = [](const stats::Interval& interval, double centre) {
    constexpr double kNormalReach = 1.96;
    return centre > 0 ? (interval.high - centre) / centre / kNormalReach : 0;
  };
  if (metric.name == "images_per_second" || metric.name == "mean_step_seconds")
    return error(steps.mean_interval, steps.mean);
  if (metric.name == kMedianSpeed || metric.name == kQuietSpeed || metric.name == "median_step_seconds")
    return error(steps.median_interval, steps.median);
  return 0;
}

double core_distance(const RunRecord& run) {
  const auto [near, far] = std::minmax({run.figure_or(kHandoffBefore, 0), run.figure_or(kHandoffAfter, 0)});
  return near > 0 && far <= (1 + kDistanceGap) * near ? std::sqrt(near * far) : 0;
}

std::set<std::string> names_in(std::span<const RunRecord> runs) {
  std::set<std::string> names{"images_per_second", kMedianSpeed, kQuietSpeed, "wall_seconds", kToAccuracy};
  for (const StepFigure& figure : kStepFigures) names.insert(figure.name);
  for (const RunRecord& run : runs)
    for (const auto& [name, value] : run.figures)
      if (std::isfinite(value) && value > 0) names.insert(name);
  return names;
}

}  // namespace

bool Metric::is_pace() const { return unit_of(name).is_time() || unit_of(name).is_speed(); }
const char* Metric::better() const { return is_pace() ? "FASTER" : "BETTER"; }
const char* Metric::worse() const { return is_pace() ? "SLOWER" : "WORSE"; }

Metric find_metric(const std::string& name, std::optional<double> accuracy, std::span<const RunRecord> runs) {
  const std::set<std::string> names = names_in(runs);
  if (!names.contains(name))
    fail(ErrorKind::usage, "metric '{}': no run has it{}; there are {}", name,
         did_you_mean(name, {names.begin(), names.end()}), joined(names, ", "));
  if (accuracy && !(*accuracy > 0 && *accuracy <= 1))
    fail(ErrorKind::usage, "accuracy {}: a share above 0 and up to 1 is expected, such as 0.97", *accuracy);
  if (name == kToAccuracy && !accuracy)
    fail(ErrorKind::usage, "metric {}: an accuracy to reach is expected, such as 0.97", name);
  return {name, !less_is_better(name), accuracy};
}

std::optional<MeasuredRun> measure(const RunRecord& run, const Metric& metric) {
  if (run.status != Status::ok) return std::nullopt;
  const double value = value_or_nan(run, metric);
  if (!std::isfinite(value) || !(value > 0)) return std::nullopt;
  return MeasuredRun{run.node, value, relative_error(run, metric), core_distance(run)};
}

bool TableFigure::is_speed() const { return unit_of(name.text()).is_speed(); }

std::string TableFigure::text(double value) const {
  const Unit own = unit_of(name.text());
  if (own.is_time()) return format_seconds(value);
  if (own == unit::bytes) return format_bytes(static_cast<std::int64_t>(value));
  if (own == unit::fraction) return fmt::format("{:.0f} %", 100 * value);
  return fmt::format("{:.{}f}", value, value < 10 ? 1 : 0);
}

std::optional<double> table_value(std::span<const RunRecord* const> runs, const TableFigure& figure) {
  std::vector<MeasuredRun> values;
  for (const RunRecord* run : runs)
    if (const auto value = measure(*run, {.name = figure.name.text()})) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  return describe_cell(values).median;
}

std::optional<double> seconds_to_accuracy(const RunRecord& run, double accuracy) {
  const auto found = run.details.find("accuracy_curve");
  if (found == run.details.end()) return std::nullopt;
  for (const auto& point : parse_json(found->second))
    if (point.at(2).get<double>() >= accuracy) return point.at(0).get<double>();
  return std::nullopt;
}

LegacyMetrics legacy_metrics(std::span<const double> step_seconds, double images_per_step) {
  if (step_seconds.empty()) return {};
  std::vector<double> speeds(step_seconds.begin(), step_seconds.end());
  for (double& value : speeds) value = images_per_step / value;
  const double mean_seconds = stats::mean(step_seconds);
  return {mean_seconds, images_per_step / mean_seconds,
          std::sqrt(stats::population_variance(speeds) / static_cast<double>(speeds.size())),
          stats::scaled_mad(speeds)};
}

}  // namespace trainyard::record
