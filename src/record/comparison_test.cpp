#include "record/comparison.h"

#include <gtest/gtest.h>

#include "stats/test_series.h"

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
  summarise_steps(run);
  return run;
}

std::vector<RunRecord> made_up_runs(stats::TestNoise& noise, const Settings& asked, double step_seconds,
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

TEST(Comparison, SpeedsAreThoseOfTheSteadySteps) {
  std::vector<double> steps = stats::TestNoise(1).steps(60, 0.1, 0.01);
  for (std::size_t i = 0; i < 10; ++i) steps[i] = 1;
  EXPECT_NEAR(measure(made_up_run({}, steps), Metric())->value, 500, 10);
  EXPECT_FALSE(measure(made_up_run({}, {NAN}), Metric()));

  RunRecord imported;
  EXPECT_FALSE(measure(imported, Metric()));
  imported.images_per_second = 12247.1;
  EXPECT_EQ(measure(imported, Metric())->value, 12247.1);
  imported.status = Status::timeout;
  EXPECT_FALSE(measure(imported, Metric()));
}

TEST(Comparison, ACellThatMissesTheAccuracyIsWorseHoweverFast) {
  stats::TestNoise noise(5);
  std::vector<RunRecord> a = made_up_runs(noise, settings(50, 1), 0.2),
                         b = made_up_runs(noise, settings(50, 1), 0.1);
  for (RunRecord& run : a) run.figures["test_accuracy"] = 0.975;
  for (RunRecord& run : b) run.figures["test_accuracy"] = 0.6;
  EXPECT_EQ(compare_cells(a, b, {}, Metric()).cells[0].verdict.outcome, Outcome::better);
  const Metric gated{.accuracy = 0.97};
  const Verdict verdict = compare_cells(a, b, {}, gated).cells[0].verdict;
  EXPECT_EQ(verdict.outcome, Outcome::worse);
  EXPECT_NE(verdict.note.find("0.6"), std::string::npos) << verdict.note;
  for (RunRecord& run : b) run.figures["test_accuracy"] = 0.98;
  EXPECT_EQ(compare_cells(a, b, {}, gated).cells[0].verdict.outcome, Outcome::better);
  // No run reached it, so there is no time to it, but the result is still a row.
  const Comparison times = compare_cells(a, b, {}, {"seconds_to_accuracy", false, 0.99});
  ASSERT_EQ(times.cells.size(), 1u);
  EXPECT_EQ(times.cells[0].verdict.outcome, Outcome::unclear);
}

TEST(Comparison, MatchesCellsThatAgree) {
  stats::TestNoise noise(2);
  std::vector<RunRecord> a = made_up_runs(noise, settings(50, 1), 0.1),
                         b = made_up_runs(noise, settings(50, 1), 0.1);
  for (RunRecord& run : made_up_runs(noise, settings(64, 1), 0.2)) a.push_back(std::move(run));
  for (RunRecord& run : made_up_runs(noise, settings(64, 1), 0.3)) b.push_back(std::move(run));
  for (RunRecord& run : made_up_runs(noise, settings(64, 2), 0.2)) a.push_back(std::move(run));
  b.push_back(made_up_run(settings(50, 1), {}));
  b.back().status = Status::crash;

  const Comparison result = compare_cells(a, b, {}, Metric());
  ASSERT_EQ(result.cells.size(), 2u);
  EXPECT_EQ(result.cells[0].verdict.outcome, Outcome::same);
  EXPECT_EQ(result.cells[1].verdict.outcome, Outcome::worse);
  EXPECT_EQ(result.count(Outcome::worse), 1);
  EXPECT_EQ(result.without_value_b, 1);
  ASSERT_EQ(result.unmatched.size(), 1u);
  EXPECT_TRUE(result.unmatched[0].only_in_a);
  ASSERT_EQ(result.unmatched[0].nearest.size(), 1u);
  EXPECT_EQ(result.unmatched[0].nearest[0].name, "threads");
  EXPECT_EQ(result.unmatched[0].nearest[0].a, "2");
  EXPECT_EQ(result.unmatched[0].nearest[0].b, "1");
}

TEST(Comparison, AcrossASettingPairsItsValues) {
  stats::TestNoise noise(3);
  const auto a = made_up_runs(noise, settings(50, 1), 0.2), b = made_up_runs(noise, settings(50, 2), 0.1);
  EXPECT_TRUE(compare_cells(a, b, {}, Metric()).cells.empty());
  const Comparison result = compare_cells(a, b, {"threads"}, Metric());
  ASSERT_EQ(result.cells.size(), 1u);
  EXPECT_EQ(result.cells[0].verdict.outcome, Outcome::better);
  EXPECT_NEAR(result.cells[0].verdict.ratio, 2, 0.1);
  EXPECT_TRUE(result.unmatched.empty());
}

TEST(Comparison, StallsAreALossWhereStepsAreAsFastAsEver) {
  stats::TestNoise noise(6);
  std::vector<RunRecord> a = made_up_runs(noise, settings(50, 1), 0.1),
                         b = made_up_runs(noise, settings(50, 1), 0.1);
  for (RunRecord& run : b) {
    for (std::size_t i = 4; i < run.step_seconds.size(); i += 10) run.step_seconds[i] *= 5;
    summarise_steps(run);
  }
  Metric quiet;
  quiet.name = kQuietSpeed;
  const Verdict verdict = compare_cells(a, b, {}, quiet).cells[0].verdict;
  const Verdict by_speed = compare_cells(a, b, {}, Metric()).cells[0].verdict;
  EXPECT_EQ(by_speed.outcome, Outcome::worse);
  EXPECT_EQ(verdict.outcome, Outcome::worse);
  EXPECT_EQ(verdict.ratio, by_speed.ratio) << "the ratio is that of the speeds beside it";
  EXPECT_EQ(verdict.value_b, by_speed.value_b);
  EXPECT_GT(verdict.p_value, by_speed.p_value) << "a second question has its price";
  EXPECT_NE(verdict.note.find("stalls included; the faster steps alone: "), std::string::npos)
      << verdict.note;
}

TEST(Comparison, ManyCellsOfEqualsRaiseFewAlarms) {
  stats::TestNoise noise(4);
  int alarmed = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<RunRecord> a, b;
    for (int batch = 1; batch <= 12; ++batch)
      for (auto* side : {&a, &b})
        for (int run = 0; run < 3; ++run)
          side->push_back(made_up_run(settings(batch, 1), {0.1 * (1 + 0.05 * noise.normal())}));
    const Comparison result = compare_cells(a, b, {}, Metric());
    alarmed += result.count(Outcome::better) + result.count(Outcome::worse) > 0;
  }
  EXPECT_LE(alarmed, 9);  // 5 % of 100, and two standard errors
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
