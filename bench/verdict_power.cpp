// Counts how often intervals hold and verdicts are right on real repeats: verdict_power FOLDER [METRIC].
// FOLDER is that of studies/repeats.yaml. Draws subsets of a cell's runs and judges them as `study status`
// and `compare` would.

#include <algorithm>
#include <cstdio>
#include <map>

#include <fmt/core.h>

#include "base/error.h"
#include "base/philox.h"
#include "record/envelope.h"
#include "record/metric.h"
#include "record/statistics.h"
#include "record/verdict.h"
#include "study/progress.h"

namespace trainyard {
namespace {

using Runs = std::vector<record::MeasuredRun>;

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

double median_of(const Runs& runs) {
  std::vector<double> values;
  for (const record::MeasuredRun& run : runs) values.push_back(run.value);
  return record::median(values);
}

double coverage(const Runs& runs, std::size_t count, Draws& draws) {
  const double centre = median_of(runs);
  int covered = 0;
  for (int i = 0; i < kDraws; ++i) {
    const record::Interval interval = record::describe_cell(draws.take(runs, count)).interval;
    covered += interval.low <= centre && centre <= interval.high;
  }
  return 100.0 * covered / kDraws;
}

bool is_claim(record::Outcome outcome) {
  return outcome == record::Outcome::better || outcome == record::Outcome::worse;
}

double alarms(const Runs& runs, std::size_t count, Draws& draws) {
  int alarmed = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Runs both = draws.take(runs, 2 * count);
    const std::span<const record::MeasuredRun> all(both);
    alarmed += is_claim(record::compare_runs(all.first(count), all.last(count)).outcome);
  }
  return 100.0 * alarmed / kDraws;
}

double found(const Runs& fast, const Runs& slow, std::size_t count, Draws& draws) {
  int right = 0;
  for (int i = 0; i < kDraws; ++i)
    right += record::compare_runs(draws.take(fast, count), draws.take(slow, count)).outcome ==
             record::Outcome::worse;
  return 100.0 * right / kDraws;
}

void print_tables(const std::filesystem::path& folder, const record::Metric& metric) {
  std::map<std::string, std::map<record::Settings, Runs>> networks;
  for (const record::RunRecord& run : study::runs_of_build(study::Folder{folder}, ""))
    if (const auto measured = record::measure(run, metric))
      networks[run.words.at("network")][record::envelope(run)].push_back(*measured);
  fmt::print("{}, {}\n", folder.filename().string(), metric.name);
  fmt::print("{:<8} {:>5} {:>9} {:>6} | {:>29} | {:>9} | {:>11} {:>12}\n", "network", "runs", "images/s",
             "CV %", "interval of 3, 5, 10 holds %", "A/A 5+5 %", "slower by %", "found 5+5 %");
  Draws draws;
  for (const auto& [network, cells] : networks) {
    if (cells.size() != 2)
      fail(ErrorKind::config, "{}: two cells of {} expected, {} found", folder.string(), network,
           cells.size());
    const Runs *fast = &cells.begin()->second, *slow = &cells.rbegin()->second;
    if (median_of(*fast) < median_of(*slow)) std::swap(fast, slow);
    if (std::min(fast->size(), slow->size()) < 20)
      fail(ErrorKind::config, "{}: 20 runs of a cell expected", folder.string());
    const record::CellSummary summary = record::describe_cell(*fast);
    fmt::print(
        "{:<8} {:>5} {:>9.0f} {:>6.1f} | {:>9.1f} {:>9.1f} {:>9.1f} | {:>9.1f} | {:>11.1f} {:>12.1f}\n",
        network, fast->size() + slow->size(), summary.median, 100 * summary.run_spread,
        coverage(*fast, 3, draws), coverage(*fast, 5, draws), coverage(*fast, 10, draws),
        alarms(*fast, 5, draws), 100 * (median_of(*fast) / median_of(*slow) - 1),
        found(*fast, *slow, 5, draws));
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
