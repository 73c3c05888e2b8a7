// Counts how often intervals hold and verdicts are right on real repeats: verdict_power FOLDER [METRIC].
// FOLDER is that of studies/repeats.yaml. Draws subsets of a cell's runs and judges them as `study status`
// and `compare` would.

#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/core.h>

#include "base/error.h"
#include "base/philox.h"
#include "record/comparison.h"
#include "stats/change_points.h"
#include "stats/statistics.h"
#include "study/run/progress.h"

namespace trainyard {
namespace {

using Runs = std::vector<record::RunRecord>;

constexpr int kDraws = 2000;

// Runs with repeats, as if they were drawn from all that there could be: without repeats, subsets of few runs
// would lie closer to the centre of all than runs do. The same numbers every time.
class Draws {
 public:
  Runs take(const Runs& runs, std::size_t count) {
    Runs taken;
    while (taken.size() < count) taken.push_back(runs[next() % runs.size()]);
    return taken;
  }

 private:
  std::uint32_t next() { return philox_.block(drawn_++)[0]; }

  Philox philox_{1, stream_of("verdict power")};
  std::uint64_t drawn_ = 0;
};

std::vector<record::MeasuredRun> measured(const Runs& runs, const record::Metric& metric) {
  std::vector<record::MeasuredRun> found;
  for (const record::RunRecord& run : runs) found.push_back(*record::measure(run, metric));
  return found;
}

double median_of(const Runs& runs, const record::Metric& metric) {
  std::vector<double> values;
  for (const record::MeasuredRun& run : measured(runs, metric)) values.push_back(run.value);
  return stats::median(values);
}

double coverage(const Runs& runs, std::size_t count, const record::Metric& metric, Draws& draws) {
  const double centre = median_of(runs, metric);
  int covered = 0;
  for (int i = 0; i < kDraws; ++i) {
    const stats::Interval interval =
        record::describe_cell(measured(draws.take(runs, count), metric)).interval;
    covered += interval.low <= centre && centre <= interval.high;
  }
  return 100.0 * covered / kDraws;
}

// As `compare` judges, stalls included.
record::Comparison compare(const Runs& a, const Runs& b, const record::Metric& metric) {
  return record::compare_cells(a, b, {}, metric);
}

double alarms(const Runs& runs, std::size_t count, const record::Metric& metric, Draws& draws) {
  int alarmed = 0;
  for (int i = 0; i < kDraws; ++i) {
    const record::Comparison verdict = compare(draws.take(runs, count), draws.take(runs, count), metric);
    alarmed += verdict.count(record::Outcome::worse) + verdict.count(record::Outcome::better);
  }
  return 100.0 * alarmed / kDraws;
}

double found(const Runs& fast, const Runs& slow, std::size_t count, const record::Metric& metric,
             Draws& draws) {
  int right = 0;
  for (int i = 0; i < kDraws; ++i)
    right += compare(draws.take(fast, count), draws.take(slow, count), metric).count(record::Outcome::worse);
  return 100.0 * right / kDraws;
}

// As `study history` judges: ten builds of five runs, the last `slower` of which are of the slower cell.
double changes_found(const Runs& fast, const Runs& slow, int slower, const record::Metric& metric,
                     Draws& draws) {
  constexpr int kBuilds = 10, kSeries = 500;
  int with_change = 0;
  for (int i = 0; i < kSeries; ++i) {
    std::vector<stats::BuildRuns> builds(kBuilds);
    for (int build = 0; build < kBuilds; ++build)
      for (const record::MeasuredRun& run :
           measured(draws.take(build < kBuilds - slower ? fast : slow, 5), metric))
        builds[static_cast<std::size_t>(build)].push_back(run.value);
    with_change += !stats::find_changes(builds).empty();
  }
  return 100.0 * with_change / kSeries;
}

// Keeps what comparisons look at: two cells become one, and no draw copies steps.
record::RunRecord without_details(record::RunRecord run) {
  run.asked.clear();
  run.words.any().clear();
  run.provenance.clear();
  run.details.any().clear();
  run.cell.clear();
  for (const char* setting : {"batch", "devices", "threads"}) run.figures.any().erase(setting);
  run.step_seconds.clear();
  run.warmup_step_seconds.clear();
  return run;
}

void print_tables(const std::filesystem::path& folder, const record::Metric& metric) {
  std::map<std::string, std::map<std::string, Runs>> networks;  // by network and cell
  for (const record::RunRecord& run : study::runs_of_build(study::Folder{folder}, ""))
    if (record::measure(run, metric))
      networks[run.words.at("network")][run.cell].push_back(without_details(run));
  fmt::print("{}, {}\n", folder.filename().string(), metric.name);
  fmt::print("{:<8} {:>5} {:>9} {:>6} | {:>29} | {:>9} | {:>11} {:>12} | {:>26}\n", "network", "runs",
             "images/s", "CV %", "interval of 3, 5, 10 holds %", "A/A 5+5 %", "slower by %", "found 5+5 %",
             "10 builds: 0, 1, 3 slow %");
  Draws draws;
  for (const auto& [network, cells] : networks) {
    if (cells.size() != 2)
      fail(ErrorKind::config, "{}: two cells of {} expected, {} found", folder.string(), network,
           cells.size());
    const Runs *fast = &cells.begin()->second, *slow = &cells.rbegin()->second;
    if (median_of(*fast, metric) < median_of(*slow, metric)) std::swap(fast, slow);
    if (std::min(fast->size(), slow->size()) < 20)
      fail(ErrorKind::config, "{}: 20 runs of a cell expected", folder.string());
    const record::CellSummary summary = record::describe_cell(measured(*fast, metric));
    fmt::print(
        "{:<8} {:>5} {:>9.0f} {:>6.1f} | {:>9.1f} {:>9.1f} {:>9.1f} | {:>9.1f} | {:>11.1f} {:>12.1f} | "
        "{:>8.1f} "
        "{:>8.1f} {:>8.1f}\n",
        network, fast->size() + slow->size(), summary.median, 100 * summary.run_spread,
        coverage(*fast, 3, metric, draws), coverage(*fast, 5, metric, draws),
        coverage(*fast, 10, metric, draws), alarms(*fast, 5, metric, draws),
        100 * (median_of(*fast, metric) / median_of(*slow, metric) - 1),
        found(*fast, *slow, 5, metric, draws), changes_found(*fast, *slow, 0, metric, draws),
        changes_found(*fast, *slow, 1, metric, draws), changes_found(*fast, *slow, 3, metric, draws));
  }
}

}  // namespace
}  // namespace trainyard

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("verdict_power FOLDER [METRIC]: the folder of studies/repeats.yaml is expected\n", stderr);
    return 1;
  }
  try {
    trainyard::record::Metric metric;
    metric.name = count > 2 ? words[2] : trainyard::record::kQuietSpeed;
    trainyard::print_tables(words[1], metric);
  } catch (const trainyard::Error& error) {
    fmt::print(stderr, "verdict_power: {}\n", error.what());
    return 1;
  }
  return 0;
}
