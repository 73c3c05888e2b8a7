#include "record/verdict.h"

#include <gtest/gtest.h>

#include "record/test_psc_runs.h"
#include "stats/test_series.h"

namespace trainyard::record {
namespace {

using Runs = std::vector<MeasuredRun>;

// Makes runs whose levels spread by `spread`.
Runs made_up_runs(stats::TestNoise& noise, int runs, double speed, double spread) {
  Runs result;
  for (int i = 0; i < runs; ++i) result.push_back({"here", speed * std::exp(spread * noise.normal())});
  return result;
}

// Makes runs on a busy machine: most are near the level, and one in six is delayed, some of them badly.
Runs busy_runs(stats::TestNoise& noise, int runs, double speed) {
  Runs result = made_up_runs(noise, runs, speed, 0.02);
  for (MeasuredRun& run : result)
    if (noise.uniform() < 1.0 / 6) run.value /= 1 + 2 * noise.uniform() * noise.uniform();
  return result;
}

bool alarm(const Verdict& verdict) {
  return verdict.outcome == Outcome::better || verdict.outcome == Outcome::worse;
}

TEST(Verdict, RaisesAtMostFivePerCentFalseAlarms) {
  stats::TestNoise noise(1);
  for (const int runs : {2, 3, 5, 10}) {
    int alarms = 0;
    for (int i = 0; i < 500; ++i)
      alarms +=
          alarm(compare_runs(made_up_runs(noise, runs, 1000, 0.05), made_up_runs(noise, runs, 1000, 0.05)));
    EXPECT_LE(alarms, 25) << runs;
  }
}

TEST(Verdict, FindsASlowDownOfFivePerCent) {
  stats::TestNoise noise(2);
  const struct {
    double spread;
    int runs;
  } cases[] = {{0.02, 6}, {0.04, 16}};
  for (const auto& [spread, runs] : cases) {
    int found = 0;
    for (int i = 0; i < 200; ++i) {
      const Runs before = made_up_runs(noise, runs, 1000, spread),
                 after = made_up_runs(noise, runs, 1000 / 1.05, spread);
      found += compare_runs(before, after).outcome == Outcome::worse;
    }
    EXPECT_GE(found, 160) << runs << " runs a side";
  }
}

TEST(Verdict, HoldsOnABusyMachine) {
  stats::TestNoise noise(6);
  int alarms = 0, found = 0;
  for (int i = 0; i < 500; ++i) {
    alarms += alarm(compare_runs(busy_runs(noise, 5, 1000), busy_runs(noise, 5, 1000)));
    found +=
        compare_runs(busy_runs(noise, 5, 1000), busy_runs(noise, 5, 1000 / 1.12)).outcome == Outcome::worse;
  }
  EXPECT_LE(alarms, 35);  // 5 % of 500, and two standard errors
  EXPECT_GE(found, 375);
}

TEST(Verdict, LessIsBetterOfSomeMetrics) {
  const Runs a{{"", 100}, {"", 101}, {"", 99}, {"", 100}, {"", 100.5}},
      b{{"", 80}, {"", 81}, {"", 79}, {"", 80.5}, {"", 80}};
  EXPECT_EQ(compare_runs(a, b).outcome, Outcome::worse);
  EXPECT_EQ(compare_runs(a, b, {.more_is_better = false}).outcome, Outcome::better);
}

// Columns and ratio come from the same runs: B ran more often on the fast node, and is slower on either.
TEST(Verdict, RatioAgreesWithItsColumns) {
  Runs a, b;
  for (int i = 0; i < 6; ++i) a.push_back({i < 4 ? "slow" : "fast", (i < 4 ? 100 : 200) * (1 + 0.001 * i)});
  for (int i = 0; i < 6; ++i) b.push_back({i < 2 ? "slow" : "fast", (i < 2 ? 90 : 180) * (1 + 0.001 * i)});
  b.push_back({"elsewhere", 1000});
  const Verdict verdict = compare_runs(a, b);
  EXPECT_EQ(verdict.outcome, Outcome::worse);
  EXPECT_NEAR(verdict.ratio, 0.9, 0.005);
  EXPECT_DOUBLE_EQ(verdict.ratio, verdict.value_b / verdict.value_a);
  EXPECT_LE(verdict.interval.low, verdict.ratio);
  EXPECT_GE(verdict.interval.high, verdict.ratio);
  EXPECT_EQ(verdict.runs_b, 6);
}

TEST(Verdict, NeverAsksForFewerRunsThanThereWere) {
  stats::TestNoise noise(7);
  for (int i = 0; i < 300; ++i) {
    const Verdict verdict =
        compare_runs(made_up_runs(noise, 7, 1000, 0.02), made_up_runs(noise, 5, 980, 0.02));
    const std::size_t at = verdict.note.find("about ");
    if (at == std::string::npos) continue;
    EXPECT_GT(std::stoi(verdict.note.substr(at + 6)), 7) << verdict.note;
  }
}

TEST(Verdict, NodesThatDifferDoNotHideADifference) {
  stats::TestNoise noise(3);
  Runs a, b;
  for (int node = 0; node < 6; ++node) {
    const double speed = 1000 * (1 + node);
    a.push_back({std::to_string(node), speed * (1 + 0.01 * noise.normal())});
    b.push_back({std::to_string(node), 0.9 * speed * (1 + 0.01 * noise.normal())});
  }
  const Verdict verdict = compare_runs(a, b);
  EXPECT_EQ(verdict.outcome, Outcome::worse);
  EXPECT_EQ(verdict.pairing, Pairing::nodes);
  EXPECT_EQ(verdict.nodes, 6);
  EXPECT_NEAR(verdict.ratio, 0.9, 0.01);
}

TEST(Verdict, RunsOnOtherNodesAreLeftOutWhereNodesPair) {
  const Runs a{{"n1", 100}, {"n1", 101}, {"n2", 50}, {"n2", 50.5}, {"fast", 900}};
  const Runs b{{"n1", 100.5}, {"n1", 100}, {"n2", 50.2}, {"n2", 50.3}, {"slow", 9}};
  const Verdict verdict = compare_runs(a, b);
  EXPECT_EQ(verdict.outcome, Outcome::same);
  EXPECT_EQ(verdict.nodes, 2);
  EXPECT_EQ(verdict.runs_a, 4);
}

// specs/benchmarking.md, 4.1: local against scratch, the same node and day.
TEST(Verdict, OfThePublishedStagingIsSameOnPairedNodes) {
  Runs local, scratch;
  for (const PscRow& row : kPscRows) {
    if (row.scratch_node == nullptr || std::string(row.local_node) != row.scratch_node) continue;
    const std::string block = std::string(row.local_node) + row.gpu + std::to_string(row.gpus) + row.date;
    local.push_back({block, row.local});
    scratch.push_back({block, row.scratch});
  }
  ASSERT_EQ(local.size(), 14u);
  const Verdict verdict = compare_runs(local, scratch);
  EXPECT_EQ(verdict.outcome, Outcome::same) << verdict.interval.low << " " << verdict.interval.high;
  EXPECT_EQ(verdict.pairing, Pairing::nodes);
  EXPECT_NEAR(verdict.ratio, 1, 0.01);
}

// 12247 against 8733 images a second is gpu032 against gpu033, not local against scratch.
TEST(Verdict, OfTwoNodesIsNotOfTheirStaging) {
  const Runs local{{"gpu032", 12247.1}}, scratch{{"gpu033", 8733.0}};
  const Verdict verdict = compare_runs(local, scratch);
  EXPECT_EQ(verdict.outcome, Outcome::unclear);
  EXPECT_NE(verdict.note.find("different nodes"), std::string::npos);
  EXPECT_NEAR(verdict.ratio, 0.713, 0.001);

  const Runs two_each_a{{"gpu032", 12247.1}, {"gpu032", 12200.0}};
  const Runs two_each_b{{"gpu033", 8733.0}, {"gpu033", 8700.0}};
  EXPECT_EQ(compare_runs(two_each_a, two_each_b).outcome, Outcome::unclear);

  Runs all_local, all_scratch;
  for (const PscRow& row : kPscRows) {
    if (row.gpu != std::string("p100") || row.gpus != 2) continue;
    all_local.push_back({row.local_node, row.local});
    if (row.scratch_node != nullptr) all_scratch.push_back({row.scratch_node, row.scratch});
  }
  EXPECT_FALSE(alarm(compare_runs(all_local, all_scratch)));
}

TEST(Verdict, OfManyNodesOnEitherSideComparesNodes) {
  stats::TestNoise noise(4);
  Runs a, b;
  for (int i = 0; i < 8; ++i) {
    // Two runs on a node count as one figure, because they share its level.
    const double level_a = 1000 * (1 + 0.02 * noise.normal()), level_b = 800 * (1 + 0.02 * noise.normal());
    for (int run = 0; run < 2; ++run) {
      a.push_back({"a" + std::to_string(i), level_a});
      b.push_back({"b" + std::to_string(i), level_b});
    }
  }
  const Verdict verdict = compare_runs(a, b);
  EXPECT_EQ(verdict.pairing, Pairing::node_levels);
  EXPECT_EQ(verdict.outcome, Outcome::worse);
  EXPECT_EQ(verdict.nodes, 16);
}

TEST(Verdict, OfOneRunEachAssumesASpreadOfRuns) {
  const Runs a{{"here", 1000, 0.001}}, near{{"here", 950, 0.001}}, far{{"here", 500, 0.001}};
  const Verdict verdict = compare_runs(a, near);
  EXPECT_EQ(verdict.outcome, Outcome::unclear);
  EXPECT_EQ(verdict.pairing, Pairing::steps);
  EXPECT_NE(verdict.note.find("unknown"), std::string::npos);
  EXPECT_EQ(compare_runs(a, far).outcome, Outcome::worse);
  EXPECT_EQ(compare_runs(far, a).outcome, Outcome::better);
  EXPECT_EQ(compare_runs(a, near, {.assumed_run_spread = 0}).outcome, Outcome::worse);
}

TEST(Verdict, SaysHowManyRunsWouldTell) {
  const Runs a{{"", 100}, {"", 110}, {"", 90}}, b{{"", 105}, {"", 95}, {"", 100}};
  const Verdict verdict = compare_runs(a, b);
  EXPECT_EQ(verdict.outcome, Outcome::unclear);
  EXPECT_EQ(verdict.pairing, Pairing::runs);
  EXPECT_NE(verdict.note.find("runs"), std::string::npos) << verdict.note;
  EXPECT_EQ(compare_runs(a, b, {.minimum_effect = 0.5}).outcome, Outcome::same);
}

TEST(Verdict, OfEqualNumbersIsSame) {
  const Runs runs{{"", 100}, {"", 100}};
  const Verdict verdict = compare_runs(runs, runs);
  EXPECT_EQ(verdict.outcome, Outcome::same);
  EXPECT_DOUBLE_EQ(verdict.p_value, 1);
  EXPECT_DOUBLE_EQ(verdict.interval.low, 1);
}

TEST(Verdict, ASmallButCertainDifferenceIsNoAlarm) {
  const Runs a{{"", 100.0}, {"", 100.1}, {"", 99.9}}, b{{"", 98.0}, {"", 98.1}, {"", 97.9}};
  EXPECT_EQ(compare_runs(a, b).outcome, Outcome::same);
  EXPECT_LT(compare_runs(a, b).p_value, 0.001);
  EXPECT_EQ(compare_runs(a, b, {.minimum_effect = 0.01}).outcome, Outcome::worse);
}

// Makes runs on a virtual machine whose cores are near each other at times and far apart at others, on either
// side.
Runs moved_runs(stats::TestNoise& noise, int runs, double speed) {
  Runs result = made_up_runs(noise, runs, speed, 0.02);
  for (MeasuredRun& run : result) {
    const bool slow = noise.uniform() < 0.5;
    run.core_distance = (slow ? 150e-9 : 26e-9) * std::exp(0.01 * noise.normal());
    if (slow) run.value /= 1.8;
  }
  return result;
}

TEST(Verdict, FindsASlowDownWhereverTheCoresAre) {
  stats::TestNoise noise(31);
  int found = 0, alarms = 0, found_without = 0;
  for (int i = 0; i < 400; ++i) {
    Runs before = moved_runs(noise, 5, 1000), after = moved_runs(noise, 5, 1000 / 1.12);
    found += compare_runs(before, after).outcome == Outcome::worse;
    alarms += alarm(compare_runs(before, moved_runs(noise, 5, 1000)));
    for (Runs* side : {&before, &after})
      for (MeasuredRun& run : *side) run.core_distance = 0;
    found_without += compare_runs(before, after).outcome == Outcome::worse;
  }
  EXPECT_GE(found, 340);
  EXPECT_LE(alarms, 20);
  EXPECT_LE(found_without, 120);  // so much worse without the distance
}

TEST(Verdict, APlacementOfTheCoresThatOnlyOneSideHadIsNoDifferenceOfTheProgram) {
  stats::TestNoise noise(32);
  Runs before = made_up_runs(noise, 5, 1000, 0.01), after = made_up_runs(noise, 5, 600, 0.01);
  for (MeasuredRun& run : before) run.core_distance = 26e-9;
  for (MeasuredRun& run : after) run.core_distance = 150e-9;
  const Verdict verdict = compare_runs(before, after);
  EXPECT_EQ(verdict.outcome, Outcome::unclear);
  EXPECT_NE(verdict.note.find("cores were placed differently"), std::string::npos) << verdict.note;
  before.front().core_distance = 150e-9;  // the one placement in common has one run a side
  after.resize(1);
  before.resize(1);
  before.push_back({"here", 1000});
  before.back().core_distance = 26e-9;
  EXPECT_EQ(compare_runs(before, after).outcome, Outcome::unclear);
  before = made_up_runs(noise, 5, 1000, 0.01);
  after = made_up_runs(noise, 5, 600, 0.01);
  for (MeasuredRun& run : after) run.core_distance = 150e-9;
  for (MeasuredRun& run : before) run.core_distance = 0;  // older records: then distances say nothing
  EXPECT_EQ(compare_runs(before, after).outcome, Outcome::worse);
}

}  // namespace
}  // namespace trainyard::record
