// The bars of docs/prediction.md on GPUAlloc's published runs, in a version that takes seconds;
// scripts/predict-published does the whole protocol.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "place/bounds.h"
#include "place/policy.h"
#include "place/problem.h"
#include "place/simulate.h"
#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "stats/statistics.h"

namespace trainyard::golden {
namespace {

using predict::RunEnd;
using predict::RunSet;

class PredictionTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("TRAINYARD_PUBLISHED_FOLDER");
    file_ = std::filesystem::path(given != nullptr ? given : "../shared/data") /
            "gpualloc/training_perf_file.csv";
    if (!std::filesystem::exists(file_)) GTEST_SKIP() << "no published runs at '" << file_.string() << "'";
  }
  RunSet set() const { return predict::prepare_runs(predict::read_run_csv(file_), predict::known_devices()); }

  std::filesystem::path file_;
};

TEST_F(PredictionTest, RunsAreReadAndCrashesTold) {
  const RunSet runs = set();
  EXPECT_EQ(runs.rows.size(), 1152u);
  EXPECT_EQ(runs.networks().size(), 12u);
  EXPECT_EQ(runs.works.size(), 192u);
  std::map<std::string, int> crashes;
  for (const RunSet::Row& row : runs.rows) {
    if (row.run.end != RunEnd::oom) continue;
    ++crashes[row.run.device];
    EXPECT_EQ(row.run.batch, 64);
    EXPECT_LT(row.run.seconds, 112);
  }
  EXPECT_EQ(crashes, (std::map<std::string, int>{{"GTX1080", 24}, {"RTX2070", 24}}));
}

TEST_F(PredictionTest, RandomSplitAndMemory) {
  const RunSet runs = set();
  const predict::Split split = predict::make_splits(runs, {})[0];
  const predict::TimeModel model = predict::fit_model(runs, split.train, {.calibrate = false});
  EXPECT_LT(predict::score(predict::judge(model, runs, split.test)).mape, 0.04);
  const predict::Score all = predict::score(predict::judge(model, runs, predict::all_rows(runs)));
  EXPECT_EQ(all.oom, 48u);
  EXPECT_EQ(all.oom_missed, 0u);
  EXPECT_EQ(all.oom_false, 0u);
  // It can be predicted whether a GPU is near its limit; which of two levels of a CPU lasts longer is hard to
  // predict.
  for (const predict::UseScore& use : predict::score_use(runs, predict::judge(model, runs, split.test))) {
    EXPECT_LE(use.error, use.usual_error + 1e-3) << use.resource << " " << use.share;
    const bool gpu_peak = use.resource == "gpu_util" && use.share == std::string("peak");
    EXPECT_LT(use.error, gpu_peak ? 0.03 : 0.2) << use.resource << " " << use.share;
  }
}

TEST_F(PredictionTest, LeaveOneNetworkOut) {
  const RunSet runs = set();
  std::vector<double> errors;
  for (const predict::Split& split : predict::make_splits(runs, {predict::SplitKind::network})) {
    predict::check_no_leak(runs, split, predict::SplitKind::network);
    const predict::TimeModel model =
        predict::fit_model(runs, split.train, {.calibrate = false, .learn_use = false});
    errors.push_back(predict::score(predict::judge(model, runs, split.test)).mape);
  }
  ASSERT_EQ(errors.size(), 12u);
  EXPECT_LT(stats::median(errors), 0.07);
  EXPECT_LT(stats::mean(errors), 0.09);
}

TEST_F(PredictionTest, TwentyRunsAdaptToTitanX) {
  const RunSet runs = set();
  const predict::TimeModel base =
      predict::fit_model(runs, predict::rows_of_device(runs, "GTX1080"), {.calibrate = false});
  const predict::Split split = predict::few_shot(runs, "TitanX", 20, 1);
  const predict::TimeModel model = predict::fit_model(runs, split.train, {.calibrate = false, .base = &base});
  EXPECT_LT(predict::score(predict::judge(model, runs, split.test)).mape, 0.10);
}

class PlacementTest : public PredictionTest {
 protected:
  place::Problem problem(predict::Predictor* model) const {
    const TestFolder folder;
    const std::filesystem::path table = std::filesystem::absolute(file_);
    const auto cluster =
        folder.write("cluster.yaml", "slots: [{device: GTX1080}, {device: RTX2070}, {device: TitanX}]");
    return place::make_problem(place::read_jobs(folder.write("jobs.yaml", "table: " + table.string())),
                               place::read_cluster(cluster, predict::known_devices()), model);
  }
  // Hours, the mean over orders of arrival.
  struct Hours {
    double mean_completion = 0, makespan = 0;
  };
  static Hours hours_of(const place::Problem& given, const char* policy, int orders) {
    Hours hours;
    for (int i = 0; i < orders; ++i) {
      place::Problem problem = given;
      place::shuffle_jobs(problem, static_cast<std::uint64_t>(i) + 1);
      const place::Outcome outcome =
          place::simulate(problem, place::find_policy(policy), static_cast<std::uint64_t>(i) + 1);
      hours.mean_completion += outcome.mean_completion_seconds / 3600 / orders;
      hours.makespan += outcome.makespan_seconds / 3600 / orders;
    }
    return hours;
  }
};

// The queue of all 384 jobs with their measured times (specification of the ancestor, section 4).
TEST_F(PlacementTest, MeasuredTimesGiveThePublishedTable) {
  const place::Problem measured = problem(nullptr);
  ASSERT_EQ(measured.jobs.size(), 384u);
  const Hours shortest = hours_of(measured, "earliest-finish-shortest", 1);
  EXPECT_NEAR(shortest.mean_completion, 57.1, 0.1);
  EXPECT_NEAR(shortest.makespan, 224.9, 0.1);
  const Hours longest = hours_of(measured, "earliest-finish-longest", 1);
  EXPECT_NEAR(longest.mean_completion, 166.6, 0.1);
  EXPECT_NEAR(longest.makespan, 222.0, 0.1);
  const Hours arrival = hours_of(measured, "earliest-finish", 50);
  EXPECT_NEAR(arrival.mean_completion, 110.5, 1);
  EXPECT_NEAR(arrival.makespan, 222.7, 0.5);
  EXPECT_NEAR(hours_of(measured, "fastest", 1).makespan, 540, 1);
  EXPECT_NEAR(hours_of(measured, "random", 10).makespan, 254, 10);
  const Hours fifo = hours_of(measured, "fifo", 50);
  EXPECT_NEAR(fifo.mean_completion, 112.0, 0.1);
  EXPECT_NEAR(fifo.makespan, 224.9, 0.1);
  const Hours bug = hours_of(measured, "legacy-time", 10);
  EXPECT_NEAR(bug.mean_completion, 338, 6);
  EXPECT_NEAR(bug.makespan, 676, 0.5);
  EXPECT_EQ(place::simulate(measured, place::find_policy("legacy-time")).out_of_memory, 24u);
  EXPECT_NEAR(hours_of(measured, "legacy-efficiency", 1).makespan, 281, 1);
}

// The least mean JCT of all schedules, and a makespan that none ends before, whatever the policy.
TEST_F(PlacementTest, PlansReachTheBounds) {
  const place::Problem measured = problem(nullptr);
  const place::Bounds bounds = place::bounds_of(measured);
  EXPECT_TRUE(bounds.exact);
  EXPECT_NEAR(bounds.mean_completion_seconds / 3600, 54.79, 0.01);
  EXPECT_NEAR(bounds.makespan_seconds / 3600, 213.19, 0.05);
  const place::Outcome jct = place::simulate(measured, place::find_policy("least-jct"));
  EXPECT_NEAR(jct.mean_completion_seconds, bounds.mean_completion_seconds, 1e-3);
  EXPECT_LE(jct.makespan_seconds, 1.02 * bounds.makespan_seconds);
  const place::Outcome makespan = place::simulate(measured, place::find_policy("least-makespan"));
  EXPECT_LE(makespan.makespan_seconds, 1.001 * bounds.makespan_seconds);
  EXPECT_EQ(jct.out_of_memory + makespan.out_of_memory, 0u);
}

TEST_F(PlacementTest, TheEfficiencyScoreRarelyFindsTheFastestDevice) {
  const place::Problem measured = problem(nullptr);
  const place::LegacyScaling scaling(measured);
  int raw = 0, scaled = 0;
  for (const place::Job& job : measured.jobs) {
    std::size_t fastest = 0;
    for (std::size_t k = 1; k < job.options.size(); ++k)
      if (job.options[k].fits &&
          (!job.options[fastest].fits || job.options[k].seconds < job.options[fastest].seconds))
        fastest = k;
    const auto best = [](const std::vector<double>& scores) {
      return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    };
    raw += best(place::legacy_efficiencies(job)) == fastest ? 1 : 0;
    scaled += best(scaling.efficiencies(job)) == fastest ? 1 : 0;
  }
  EXPECT_EQ(raw, 113);
  EXPECT_EQ(scaled, 64);
}

TEST_F(PlacementTest, PredictedTimesPlaceAsWell) {
  const RunSet runs = set();
  const predict::TimeModel model = predict::fit_model(runs, predict::make_splits(runs, {})[0].train,
                                                      {.calibrate = false, .learn_use = false});
  const place::Problem predicted = problem(predict::make_predictor(model).get());
  EXPECT_NEAR(hours_of(predicted, "earliest-finish-shortest", 1).mean_completion, 57.1, 0.05 * 57.1);
  const place::Outcome longest = place::simulate(predicted, place::find_policy("earliest-finish-longest"));
  EXPECT_NEAR(longest.makespan_seconds / 3600, 222.0, 0.05 * 222.0);
  EXPECT_EQ(longest.out_of_memory, 0u);
}

}  // namespace
}  // namespace trainyard::golden
