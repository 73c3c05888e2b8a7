#include "record/comparison.h"

#include <cmath>

#include <gtest/gtest.h>

#include "record/test_series.h"

namespace trainyard::record {
namespace {

RunRecord made_up_run(const Settings& asked, std::vector<double> step_seconds,
                      const std::string& node = "here") {
  RunRecord run;
  run.command = "bench";
  run.asked = asked;
  run.node = node;
  run.step_seconds = std::move(step_seconds);
  run.images_per_step = 50;
  return run;
}

std::vector<RunRecord> made_up_runs(TestNoise& noise, const Settings& asked, double step_seconds,
                                    int runs = 5) {
  std::vector<RunRecord> result;
  for (int i = 0; i < runs; ++i)
    result.push_back(made_up_run(asked, noise.steps(30, step_seconds * (1 + 0.01 * noise.normal()), 0.01)));
  return result;
}

Settings settings(std::int64_t batch, std::int64_t threads) {
  return {{"batch", batch}, {"threads", threads}};
}

TEST(Envelope, IsWhatRanWithoutHowLong) {
  RunRecord run = made_up_run({{"backend", std::string("auto")},
                               {"batch", std::int64_t{50}},
                               {"steps", std::int64_t{9}},
                               {"seed", std::int64_t{3}}},
                              {1});
  run.words["backend"] = "onednn";
  run.figures["threads"] = 2;
  run.figures["flops_per_step"] = 1e9;
  EXPECT_EQ(to_text(envelope(run)), "backend onednn, batch 50, command bench, threads 2");
}

TEST(Envelope, SpeedsAreThoseOfTheSteadySteps) {
  std::vector<double> steps = TestNoise(1).steps(60, 0.1, 0.01);
  for (std::size_t i = 0; i < 10; ++i) steps[i] = 1;
  const MeasuredRun run = measured(made_up_run({}, steps));
  EXPECT_EQ(run.speeds.size(), 50u);
  EXPECT_NEAR(run.speeds.front(), 500, 30);

  EXPECT_EQ(measured(made_up_run({}, {0.1, NAN, 0, 0.2})).speeds.size(), 2u);
  EXPECT_FALSE(has_speed(made_up_run({}, {NAN})));

  RunRecord imported;
  EXPECT_FALSE(has_speed(imported));
  imported.images_per_second = 12247.1;
  EXPECT_EQ(measured(imported).speeds, std::vector<double>{12247.1});
  imported.status = Status::timeout;
  EXPECT_FALSE(has_speed(imported));
}

TEST(Comparison, MatchesCellsThatAgree) {
  TestNoise noise(2);
  std::vector<RunRecord> a = made_up_runs(noise, settings(50, 1), 0.1),
                         b = made_up_runs(noise, settings(50, 1), 0.1);
  for (RunRecord& run : made_up_runs(noise, settings(64, 1), 0.2)) a.push_back(std::move(run));
  for (RunRecord& run : made_up_runs(noise, settings(64, 1), 0.3)) b.push_back(std::move(run));
  for (RunRecord& run : made_up_runs(noise, settings(64, 2), 0.2)) a.push_back(std::move(run));
  b.push_back(made_up_run(settings(50, 1), {}));
  b.back().status = Status::crash;

  const Comparison result = compare_cells(a, b, {});
  ASSERT_EQ(result.cells.size(), 2u);
  EXPECT_EQ(result.cells[0].verdict.outcome, Outcome::same);
  EXPECT_EQ(result.cells[1].verdict.outcome, Outcome::slower);
  EXPECT_EQ(result.count(Outcome::slower), 1);
  EXPECT_EQ(result.without_speed_b, 1);
  ASSERT_EQ(result.unmatched.size(), 1u);
  EXPECT_TRUE(result.unmatched[0].only_in_a);
  ASSERT_EQ(result.unmatched[0].nearest.size(), 1u);
  EXPECT_EQ(result.unmatched[0].nearest[0].name, "threads");
  EXPECT_EQ(result.unmatched[0].nearest[0].a, "2");
  EXPECT_EQ(result.unmatched[0].nearest[0].b, "1");
}

TEST(Comparison, AcrossASettingPairsItsValues) {
  TestNoise noise(3);
  const auto a = made_up_runs(noise, settings(50, 1), 0.2), b = made_up_runs(noise, settings(50, 2), 0.1);
  EXPECT_TRUE(compare_cells(a, b, {}).cells.empty());
  const Comparison result = compare_cells(a, b, {"threads"});
  ASSERT_EQ(result.cells.size(), 1u);
  EXPECT_EQ(result.cells[0].verdict.outcome, Outcome::faster);
  EXPECT_NEAR(result.cells[0].verdict.ratio, 2, 0.1);
  EXPECT_TRUE(result.unmatched.empty());
}

TEST(Comparison, ManyCellsOfEqualsRaiseFewAlarms) {
  TestNoise noise(4);
  int alarmed = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<RunRecord> a, b;
    for (int batch = 1; batch <= 12; ++batch)
      for (auto* side : {&a, &b})
        for (int run = 0; run < 3; ++run)
          side->push_back(made_up_run(settings(batch, 1), {0.1 * (1 + 0.05 * noise.normal())}));
    const Comparison result = compare_cells(a, b, {});
    alarmed += result.count(Outcome::faster) + result.count(Outcome::slower) > 0;
  }
  EXPECT_LE(alarmed, 7);  // 3 % of 100, and two standard errors
}

TEST(Comparison, ListsFactsThatDiffer) {
  RunRecord a, b;
  a.provenance = {{"build", "commit", std::string("aaa")}, {"cpu", "model", std::string("X")}};
  b.provenance = {{"build", "commit", std::string("bbb")}, {"cpu", "model", std::string("X")}};
  const auto facts = fact_differences(std::vector{a}, std::vector{a, b});
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].name, "build.commit");
  EXPECT_EQ(facts[0].a, "aaa");
  EXPECT_EQ(facts[0].b, "aaa, bbb");
}

}  // namespace
}  // namespace trainyard::record
