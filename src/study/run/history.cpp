#include "study/run/history.h"

#include "record/build.h"
#include "record/verdict.h"

namespace trainyard::study {
namespace {

using CellKey = std::pair<record::Settings, std::string>;                    // settings, machine
using Points = std::map<std::pair<std::size_t, std::string>, HistoryPoint>;  // by source and build

// Records of foreign programs do not describe their machine, so only the host is known.
std::string machine_or_node(const record::RunRecord& run) {
  const std::string machine = record::machine_of(run);
  return machine.empty() ? run.node : machine;
}

double commit_seconds_of(const record::RunRecord& run, const std::map<std::string, double>& known) {
  if (const double said = record::commit_seconds_of(run); said > 0) return said;
  const std::string commit = record::commit_in(record::build_of(run));
  if (commit.empty()) return 0;
  const auto found = known.lower_bound(commit);
  return found != known.end() && found->first.starts_with(commit) ? found->second : 0;
}

double centre_of_runs(const HistoryPoint& point, stats::Centre centre) {
  std::vector<double> logs;
  for (const record::MeasuredRun& run : point.runs) logs.push_back(std::log(run.value));
  return std::exp(stats::centre_of(logs, centre));
}

void put_in_order(std::vector<HistoryPoint>& points) {
  const bool by_commit = std::all_of(points.begin(), points.end(),
                                     [](const HistoryPoint& point) { return point.commit_seconds > 0; });
  const auto when = [&](const HistoryPoint& point) {
    return std::pair(by_commit ? point.commit_seconds : point.measured_seconds, point.measured_seconds);
  };
  std::stable_sort(points.begin(), points.end(),
                   [&](const HistoryPoint& a, const HistoryPoint& b) { return when(a) < when(b); });
}

}  // namespace

bool CellHistory::is_regression(const stats::Change& change, const record::Metric& metric) const {
  const auto worse_than = [&](double value, double level) {
    return metric.more_is_better ? value < level : value > level;
  };
  if (!worse_than(change.after, change.before)) return false;
  // A later change undid it, or more than that.
  const double midway = std::sqrt(change.before * change.after);
  return std::none_of(changes.begin(), changes.end(), [&](const stats::Change& later) {
    return later.at > change.at && !worse_than(later.after, midway);
  });
}

std::vector<CellHistory> make_history(std::span<const HistorySource> sources, const record::Metric& metric,
                                      const HistoryOptions& options) {
  std::map<CellKey, Points> cells;
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (const record::RunRecord& run : record::that_speak(sources[i].runs)) {
      const auto measured = record::measure(run, metric);
      if (!measured) continue;
      record::Settings settings = record::envelope(run);
      settings.erase("build");
      const std::string build = record::build_of(run);
      HistoryPoint& point = cells[{std::move(settings), machine_or_node(run)}][{i, build}];
      if (point.runs.empty() || run.started_seconds < point.measured_seconds)
        point.measured_seconds = run.started_seconds;
      point.build = build;
      point.source = sources[i].name;
      point.commit_seconds = commit_seconds_of(run, options.commit_seconds);
      point.runs.push_back(*measured);
    }
  const stats::ChangeOptions change_options{
      .centre =
          record::centre_for({.more_is_better = metric.more_is_better, .noise_worsens = metric.is_pace()}),
      .level = record::kAlarmLevel / static_cast<double>(std::max<std::size_t>(cells.size(), 1)),
      .minimum_effect = options.minimum_effect};
  std::vector<CellHistory> histories;
  for (auto& [key, points] : cells) {
    CellHistory& history = histories.emplace_back(CellHistory{key.first, key.second, {}, {}});
    for (auto& [place, point] : points) {
      point.value = centre_of_runs(point, change_options.centre);
      history.points.push_back(std::move(point));
    }
    put_in_order(history.points);
    if (options.last > 0 && history.points.size() > options.last)
      history.points.erase(history.points.begin(),
                           history.points.end() - static_cast<std::ptrdiff_t>(options.last));
    std::vector<stats::BuildRuns> builds;
    for (const HistoryPoint& point : history.points) {
      stats::BuildRuns& values = builds.emplace_back();
      for (const record::MeasuredRun& run : point.runs) values.push_back(run.value);
    }
    history.changes = stats::find_changes(builds, change_options);
  }
  return histories;
}

}  // namespace trainyard::study
