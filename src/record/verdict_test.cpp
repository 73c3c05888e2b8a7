#include "record/verdict.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "record/test_psc_runs.h"
#include "record/test_series.h"
#include "record/two_level.h"

namespace trainyard::record {
namespace {

using Runs = std::vector<MeasuredRun>;

// Runs whose levels spread by `spread`, of 40 correlated steps.
Runs made_up_runs(TestNoise& noise, int runs, double speed, double spread) {
  Runs result;
  for (int i = 0; i < runs; ++i)
    result.push_back({"here", noise.steps(40, speed * std::exp(spread * noise.normal()), 0.02, 0.5)});
  return result;
}

bool alarm(const Verdict& verdict) {
  return verdict.outcome == Outcome::faster || verdict.outcome == Outcome::slower;
}

TEST(Verdict, RaisesAtMostFivePerCentFalseAlarms) {
  TestNoise noise(1);
  for (const int runs : {2, 3, 5, 10}) {
    int alarms = 0;
    for (int i = 0; i < 500; ++i)
      alarms +=
          alarm(compare_runs(made_up_runs(noise, runs, 1000, 0.05), made_up_runs(noise, runs, 1000, 0.05)));
    EXPECT_LE(alarms, 25) << runs;
  }
}

TEST(Verdict, FindsASlowDownOfFivePerCentAtThePlannedSize) {
  TestNoise noise(2);
  for (const double spread : {0.02, 0.04}) {
    std::vector<std::vector<double>> pilot;
    for (MeasuredRun& run : made_up_runs(noise, 40, 1000, spread)) pilot.push_back(std::move(run.speeds));
    const int runs = runs_for_effect(describe_runs(pilot).run_spread, 0.05, VerdictOptions{}.minimum_effect);
    int found = 0;
    for (int i = 0; i < 500; ++i) {
      const Runs before = made_up_runs(noise, runs, 1000, spread),
                 after = made_up_runs(noise, runs, 1000 / 1.05, spread);
      found += compare_runs(before, after).outcome == Outcome::slower;
    }
    EXPECT_GE(found, 400) << runs << " runs a side";
    EXPECT_LE(runs, 20);
  }
}

TEST(Verdict, NodesThatDifferDoNotHideADifference) {
  TestNoise noise(3);
  Runs a, b;
  for (int node = 0; node < 6; ++node) {
    const double speed = 1000 * (1 + node);
    a.push_back({std::to_string(node), {speed * (1 + 0.01 * noise.normal())}});
    b.push_back({std::to_string(node), {0.9 * speed * (1 + 0.01 * noise.normal())}});
  }
  const Verdict verdict = compare_runs(a, b);
  EXPECT_EQ(verdict.outcome, Outcome::slower);
  EXPECT_EQ(verdict.pairing, Pairing::nodes);
  EXPECT_EQ(verdict.nodes, 6);
  EXPECT_NEAR(verdict.ratio, 0.9, 0.01);
}

TEST(Verdict, RunsOnOtherNodesAreLeftOutWhereNodesPair) {
  const Runs a{{"n1", {100}}, {"n1", {101}}, {"n2", {50}}, {"n2", {50.5}}, {"fast", {900}}};
  const Runs b{{"n1", {100.5}}, {"n1", {100}}, {"n2", {50.2}}, {"n2", {50.3}}, {"slow", {9}}};
  const Verdict verdict = compare_runs(a, b);
  EXPECT_EQ(verdict.outcome, Outcome::same);
  EXPECT_EQ(verdict.nodes, 2);
  EXPECT_EQ(verdict.runs_a, 5);
}

// specs/benchmarking.md, 4.1: local against scratch, the same node and day.
TEST(Verdict, OfThePublishedStagingIsSameOnPairedNodes) {
  Runs local, scratch;
  for (const PscRow& row : kPscRows) {
    if (row.scratch_node == nullptr || std::string(row.local_node) != row.scratch_node) continue;
    const std::string block = std::string(row.local_node) + row.gpu + std::to_string(row.gpus) + row.date;
    local.push_back({block, {row.local}});
    scratch.push_back({block, {row.scratch}});
  }
  ASSERT_EQ(local.size(), 14u);
  const Verdict verdict = compare_runs(local, scratch);
  EXPECT_EQ(verdict.outcome, Outcome::same) << verdict.interval.low << " " << verdict.interval.high;
  EXPECT_EQ(verdict.pairing, Pairing::nodes);
  EXPECT_NEAR(verdict.ratio, 1, 0.01);
}

// 12247 against 8733 images a second is gpu032 against gpu033, not local against scratch.
TEST(Verdict, OfTwoNodesIsNotOfTheirStaging) {
  const Runs local{{"gpu032", {12247.1}}}, scratch{{"gpu033", {8733.0}}};
  const Verdict verdict = compare_runs(local, scratch);
  EXPECT_EQ(verdict.outcome, Outcome::unclear);
  EXPECT_NE(verdict.note.find("different nodes"), std::string::npos);
  EXPECT_NEAR(verdict.ratio, 0.713, 0.001);

  const Runs two_each_a{{"gpu032", {12247.1}}, {"gpu032", {12200.0}}};
  const Runs two_each_b{{"gpu033", {8733.0}}, {"gpu033", {8700.0}}};
  EXPECT_EQ(compare_runs(two_each_a, two_each_b).outcome, Outcome::unclear);

  Runs all_local, all_scratch;
  for (const PscRow& row : kPscRows) {
    if (row.gpu != std::string("p100") || row.gpus != 2) continue;
    all_local.push_back({row.local_node, {row.local}});
    if (row.scratch_node != nullptr) all_scratch.push_back({row.scratch_node, {row.scratch}});
  }
  EXPECT_FALSE(alarm(compare_runs(all_local, all_scratch)));
}

TEST(Verdict, OfManyNodesOnEitherSideComparesNodes) {
  TestNoise noise(4);
  Runs a, b;
  for (int i = 0; i < 8; ++i) {
    // Two runs on a node are one figure: they share its level.
    const double level_a = 1000 * (1 + 0.02 * noise.normal()), level_b = 800 * (1 + 0.02 * noise.normal());
    for (int run = 0; run < 2; ++run) {
      a.push_back({"a" + std::to_string(i), {level_a}});
      b.push_back({"b" + std::to_string(i), {level_b}});
    }
  }
  const Verdict verdict = compare_runs(a, b);
  EXPECT_EQ(verdict.pairing, Pairing::node_means);
  EXPECT_EQ(verdict.outcome, Outcome::slower);
  EXPECT_EQ(verdict.nodes, 16);
}

TEST(Verdict, OfOneRunEachAssumesASpreadOfRuns) {
  TestNoise noise(5);
  const Runs a{{"here", noise.steps(200, 1000, 0.01)}}, near{{"here", noise.steps(200, 950, 0.01)}},
      far{{"here", noise.steps(200, 500, 0.01)}};
  const Verdict verdict = compare_runs(a, near);
  EXPECT_EQ(verdict.outcome, Outcome::unclear);
  EXPECT_EQ(verdict.pairing, Pairing::steps);
  EXPECT_NE(verdict.note.find("unknown"), std::string::npos);
  EXPECT_EQ(compare_runs(a, far).outcome, Outcome::slower);
  EXPECT_EQ(compare_runs(far, a).outcome, Outcome::faster);
  EXPECT_EQ(compare_runs(a, near, {.assumed_run_spread = 0}).outcome, Outcome::slower);
}

TEST(Verdict, SaysHowManyRunsWouldTell) {
  const Runs a{{"", {100}}, {"", {110}}, {"", {90}}}, b{{"", {105}}, {"", {95}}, {"", {100}}};
  const Verdict verdict = compare_runs(a, b);
  EXPECT_EQ(verdict.outcome, Outcome::unclear);
  EXPECT_EQ(verdict.pairing, Pairing::runs);
  EXPECT_NE(verdict.note.find("runs"), std::string::npos) << verdict.note;
  EXPECT_EQ(compare_runs(a, b, {.minimum_effect = 0.5}).outcome, Outcome::same);
}

TEST(Verdict, OfEqualNumbersIsSame) {
  const Runs runs{{"", {100}}, {"", {100}}};
  const Verdict verdict = compare_runs(runs, runs);
  EXPECT_EQ(verdict.outcome, Outcome::same);
  EXPECT_DOUBLE_EQ(verdict.p_value, 1);
  EXPECT_DOUBLE_EQ(verdict.interval.low, 1);
}

TEST(Verdict, ASmallButCertainDifferenceIsNoAlarm) {
  const Runs a{{"", {100.0}}, {"", {100.1}}, {"", {99.9}}}, b{{"", {98.0}}, {"", {98.1}}, {"", {97.9}}};
  EXPECT_EQ(compare_runs(a, b).outcome, Outcome::same);
  EXPECT_LT(compare_runs(a, b).p_value, 0.001);
  EXPECT_EQ(compare_runs(a, b, {.minimum_effect = 0.01}).outcome, Outcome::slower);
}

}  // namespace
}  // namespace trainyard::record
