#include "study/run/history.h"

#include <gtest/gtest.h>

#include "record/build.h"
#include "stats/test_series.h"

namespace trainyard::study {
namespace {

struct MeasuredBuild {
  std::string build;
  double speed = 0, commit_seconds = 0, started_seconds = 0;
  std::string cpu = "Abacus";
  std::int64_t batch = 4;
};

// Adds five runs, which spread by a thousandth.
void add_runs(const MeasuredBuild& made, std::vector<record::RunRecord>& runs) {
  stats::TestNoise noise(runs.size() + 1);
  for (int i = 0; i < 5; ++i) {
    record::RunRecord& run = runs.emplace_back();
    run.id = made.build + std::to_string(runs.size());
    run.command = "bench";
    run.asked["batch"] = made.batch;
    run.started_seconds = made.started_seconds + i;
    run.images_per_second = made.speed * (1 + 0.001 * noise.normal());
    run.provenance = {{"cpu", "model", made.cpu}, {"build", "id", made.build}};
    if (made.commit_seconds > 0) run.provenance.push_back({"build", "commit_seconds", made.commit_seconds});
  }
}

std::vector<CellHistory> history_of(const std::vector<MeasuredBuild>& builds,
                                    const HistoryOptions& options = {}) {
  HistorySource source{"folder", {}};
  for (const MeasuredBuild& build : builds) add_runs(build, source.runs);
  return make_history(std::span(&source, 1), record::Metric(), options);
}

std::string order(const CellHistory& cell) {
  std::string builds;
  for (const HistoryPoint& point : cell.points) builds += (builds.empty() ? "" : " ") + point.build;
  return builds;
}

TEST(HistoryTest, BuildsAreInTheOrderOfTheirCommits) {
  EXPECT_EQ(order(history_of({{"c", 1, 30, 100}, {"a", 1, 10, 300}, {"b", 1, 20, 200}}).at(0)), "a b c");
  // One has no date, so the order of measurement decides.
  EXPECT_EQ(order(history_of({{"c", 1, 30, 100}, {"a", 1, 0, 300}, {"b", 1, 20, 200}}).at(0)), "c b a");
}

TEST(HistoryTest, ARepositoryKnowsDatesThatRecordsDoNotSay) {
  const HistoryOptions dates{.commit_seconds = {{"aaaaaaaaaaaaaaaa", 1}, {"bbbbbbbbbbbbbbbb", 2}}};
  EXPECT_EQ(
      order(history_of({{"bbbbbbbbbbbb-7f3a", 1, 0, 100}, {"aaaaaaaaaaaa-7f3a", 1, 0, 200}}, dates).at(0)),
      "aaaaaaaaaaaa-7f3a bbbbbbbbbbbb-7f3a");
}

TEST(HistoryTest, OtherMachinesAndSettingsHaveHistoriesOfTheirOwn) {
  EXPECT_EQ(history_of({{"a", 1, 1, 1}, {"b", 9, 2, 2, "Slide rule"}, {"b", 5, 2, 3, "Abacus", 8}}).size(),
            3u);
}

TEST(HistoryTest, OnlyTheLastBuildsAreLookedAt) {
  EXPECT_EQ(order(history_of({{"a", 1, 1}, {"b", 1, 2}, {"c", 1, 3}}, {.last = 2}).at(0)), "b c");
}

TEST(HistoryTest, ARegressionLastsUntilItIsUndone) {
  const auto regressions = [](const std::vector<double>& speeds) {
    std::vector<MeasuredBuild> builds;
    for (const double speed : speeds)
      builds.push_back(
          {"b" + std::to_string(builds.size()), speed, 1.0 + static_cast<double>(builds.size())});
    const CellHistory cell = history_of(builds).at(0);
    std::string found;
    for (const stats::Change& change : cell.changes)
      if (cell.is_regression(change, record::Metric())) found += cell.points[change.at].build + " ";
    return found;
  };
  EXPECT_EQ(regressions({100, 100, 100, 80, 80, 80}), "b3 ");
  EXPECT_EQ(regressions({100, 100, 100, 80, 80, 80, 100, 100}), "");
  EXPECT_EQ(regressions({100, 100, 100, 80, 80, 80, 83, 83}), "b3 ") << "a sixth of it was undone";
  EXPECT_EQ(regressions({100, 100, 100, 120, 120, 120}), "");
  EXPECT_EQ(regressions({100, 100, 100, 80, 80, 80, 60, 60}), "b3 b6 ");
}

TEST(HistoryTest, TheSameBuildInTwoFoldersIsTwoDates) {
  std::vector<HistorySource> sources(2);
  add_runs({"a", 100, 0, 10}, sources[0].runs);
  add_runs({"a", 80, 0, 20}, sources[1].runs);
  const CellHistory cell = make_history(sources, record::Metric(), {}).at(0);
  EXPECT_EQ(cell.points.size(), 2u);
  ASSERT_EQ(cell.changes.size(), 1u);
  EXPECT_NEAR(cell.changes[0].ratio(), 0.8, 0.01);
}

}  // namespace
}  // namespace trainyard::study
