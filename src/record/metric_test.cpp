#include "record/metric.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::record {

namespace {

// 22 June 2018: towers on n GPUs fed batch x n images a step, and printed batch / time
// (specs/benchmarking.md 4.2).
TEST(Throughput, CountedImagesCorrectThePublishedSpeeds) {
  struct Row {
    std::int64_t batch;
    int devices;
    double printed, corrected;
  };
  const Row rows[] = {{1024, 1, 13142.6, 13143}, {1024, 2, 11545.5, 23091}, {1024, 4, 8221.2, 32885},
                      {512, 2, 7801.1, 15602},   {512, 4, 7454.3, 29817},   {1024, 2, 38752.8, 77506}};
  for (const Row& row : rows) {
    const std::int64_t steps = 5000;
    const double step_seconds = static_cast<double>(row.batch) / row.printed;
    std::int64_t consumed = 0;
    for (std::int64_t step = 0; step < steps; ++step)
      for (int device = 0; device < row.devices; ++device) consumed += row.batch;
    const Throughput counted{consumed, steps, row.devices};
    EXPECT_NEAR(counted.images_per_second(step_seconds), row.corrected, 1);
    EXPECT_NEAR(counted.images_per_second_per_device(step_seconds), row.printed, 1);
  }
}

TEST(Throughput, NoStepsNoImages) { EXPECT_EQ(Throughput{}.images_per_step(), 0); }

RunRecord trained_run() {
  RunRecord run;
  run.node = "here";
  run.images_per_step = 50;
  run.step_seconds.assign(40, 0.1);
  summarise_steps(run);
  run.figures["peak_memory_bytes"] = 1e9;
  run.figures["final_loss"] = 0.2;
  run.figures["test_accuracy"] = 0.98;
  run.details["accuracy_curve"] = "[[5.5,100,0.91],[11.0,200,0.97],[16.5,300,0.98]]";
  return run;
}

double value(const RunRecord& run, const Metric& metric) {
  const auto measured = measure(run, metric);
  return measured ? measured->value : -1;
}

TEST(Metric, ReadsSpeedsStepsFiguresAndTimeToAccuracy) {
  const RunRecord run = trained_run();
  const std::vector<RunRecord> runs{run};
  EXPECT_DOUBLE_EQ(value(run, find_metric("images_per_second", {}, runs)), 500);
  EXPECT_DOUBLE_EQ(value(run, find_metric("median_images_per_second", {}, runs)), 500);
  EXPECT_DOUBLE_EQ(value(run, find_metric("p95_step_seconds", {}, runs)), 0.1);
  EXPECT_DOUBLE_EQ(value(run, find_metric("peak_memory_bytes", {}, runs)), 1e9);
  EXPECT_DOUBLE_EQ(value(run, find_metric("seconds_to_accuracy", 0.97, runs)), 11);
  EXPECT_FALSE(measure(run, find_metric("seconds_to_accuracy", 0.99, runs)));
}

TEST(Metric, KnowsWhatIsBetter) {
  const std::vector<RunRecord> runs{trained_run()};
  EXPECT_TRUE(find_metric("images_per_second", {}, runs).more_is_better);
  EXPECT_TRUE(find_metric("test_accuracy", {}, runs).more_is_better);
  for (const char* less : {"p95_step_seconds", "peak_memory_bytes", "final_loss", "wall_seconds"})
    EXPECT_FALSE(find_metric(less, {}, runs).more_is_better) << less;
  EXPECT_STREQ(find_metric("p99_step_seconds", {}, runs).worse(), "SLOWER");
  EXPECT_STREQ(find_metric("peak_memory_bytes", {}, runs).worse(), "WORSE");
}

TEST(Metric, RefusesWhatNoRunHas) {
  const std::vector<RunRecord> runs{trained_run()};
  EXPECT_THROW(find_metric("peak_memory_byte", {}, runs), Error);
  EXPECT_THROW(find_metric("seconds_to_accuracy", {}, runs), Error);
  EXPECT_THROW(find_metric("images_per_second", 97.0, runs), Error);
  RunRecord failed = trained_run();
  failed.status = Status::crash;
  EXPECT_FALSE(measure(failed, Metric()));
}

// A process that was suspended for 0.1 s of every 0.25 s does two fifths less, whatever its median step says.
TEST(Metric, HeadlineSpeedCountsStalls) {
  RunRecord run;
  run.images_per_step = 1;
  for (int i = 0; i < 300; ++i) run.step_seconds.push_back(i % 15 == 7 ? 0.11 : 0.01);
  summarise_steps(run);
  EXPECT_NEAR(*run.images_per_second, 1 / (0.25 / 15), 0.5);
  EXPECT_NEAR(run.figures.at("median_images_per_second"), 100, 1);
}

TEST(Metric, CoresThatMovedDuringARunHaveNoDistance) {
  RunRecord run = trained_run();
  EXPECT_EQ(measure(run, Metric())->core_distance, 0);  // nobody measured it
  run.figures[kHandoffBefore] = 26e-9;
  run.figures[kHandoffAfter] = 28e-9;
  EXPECT_NEAR(measure(run, Metric())->core_distance, 27e-9, 1e-9);
  run.figures[kHandoffAfter] = 150e-9;
  EXPECT_EQ(measure(run, Metric())->core_distance, 0);
}

// Golden vector of specs/benchmarking.md, section 2: batch 8, steps of 1, 2 and 4 seconds.
TEST(LegacyMetrics, AreThoseOfTheSeed) {
  const LegacyMetrics legacy = legacy_metrics(std::vector<double>{1, 2, 4}, 8);
  EXPECT_NEAR(legacy.mean_seconds, 2.333333, 5e-7);
  EXPECT_NEAR(legacy.mean_speed, 3.428571, 5e-7);
  EXPECT_NEAR(legacy.speed_uncertainty, 1.440165, 5e-7);
  EXPECT_NEAR(legacy.speed_jitter, 2.9652, 5e-7);
}

TEST(LegacyMetrics, TakeTheMiddleOfAnEvenCountAsNumpyDoes) {
  // Speeds 1, 2, 4, 8: median 3, distances 2, 1, 1, 5, their median 1.5.
  const LegacyMetrics legacy = legacy_metrics(std::vector<double>{8, 4, 2, 1}, 8);
  EXPECT_DOUBLE_EQ(legacy.speed_jitter, 1.4826 * 1.5);
  EXPECT_EQ(legacy_metrics({}, 8).mean_speed, 0);
}

}  // namespace

}  // namespace trainyard::record
