#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "predict/bundled/bundled_models.h"
#include "predict/runs/device.h"

namespace trainyard::predict {
namespace {

JobDescription job_on(const char* device, backend::Precision precision = backend::Precision::f32) {
  return {.network = "resnet20",
          .batch = 32,
          .device = find_device(known_devices(), device),
          .steps = 10,
          .precision = precision};
}

TEST(BundledModelsTest, EachIsAModelOfAtMostTwoMegabytes) {
  for (const BundledModel& model : bundled_models()) {
    EXPECT_GT(model.file.size(), 10'000u) << model.name;
    EXPECT_LE(model.file.size(), 2'000'000u) << model.name;
  }
}

TEST(BundledPredictorTest, AJobGoesToTheModelThatSawItsDevice) {
  const auto predictor = make_bundled_predictor();
  const auto asked = [&](const JobDescription& job) { return predictor->basis(job).model; };
  EXPECT_EQ(asked(job_on("H200")), "h200 (kernels)");
  EXPECT_EQ(asked(job_on("H200", backend::Precision::bf16)), "h200 (kernels)");
  EXPECT_EQ(asked(job_on("GTX1080")), "published (analytic)");
  EXPECT_EQ(asked(job_on("A100")), "h200 (kernels)") << "nobody measured it";
  EXPECT_EQ(asked(job_on("GTX1080", backend::Precision::bf16)), "h200 (kernels)");
}

TEST(BundledPredictorTest, SaysWhatAPredictionIsBasedOn) {
  const auto predictor = make_bundled_predictor();
  const Basis seen = predictor->basis(job_on("H200")), other = predictor->basis(job_on("A100"));
  EXPECT_TRUE(seen.device_seen);
  EXPECT_GT(seen.device_runs, seen.family_runs);
  EXPECT_GT(seen.family_runs, 0);
  EXPECT_FALSE(other.device_seen);
  EXPECT_EQ(other.device, "H200");
  JobDescription fresh = job_on("H200");
  fresh.network = "a network of nobody";
  EXPECT_EQ(predictor->basis(fresh).family_runs, 0);
}

TEST(BundledPredictorTest, IntervalsAreWiderOnDevicesThatNobodyMeasured) {
  const auto predictor = make_bundled_predictor();
  const Prediction seen = predictor->predict(job_on("H200")), other = predictor->predict(job_on("A100"));
  EXPECT_TRUE(seen.device_seen);
  EXPECT_FALSE(other.device_seen);
  const auto width = [](const Prediction& made) { return made.high_seconds / made.low_seconds; };
  EXPECT_GT(width(seen), 1.05);
  EXPECT_GT(width(other), 1.2 * width(seen));
  EXPECT_GT(other.step_seconds, seen.step_seconds);
}

TEST(BundledPredictorTest, ACpuIsPredictedByCpusAlone) {
  const auto predictor = make_bundled_predictor();
  JobDescription job = job_on("H200");
  job.device = {.name = "own",
                .flops_per_second = 1e12,
                .bytes_per_second = 1e11,
                .memory_bytes = 3e10,
                .multiprocessors = 8,
                .kind = DeviceKind::cpu};
  EXPECT_EQ(predictor->basis(job).model, "cpu (kernels)");
  EXPECT_GT(predictor->predict(job).memory.total(), 0);
  job.precision = backend::Precision::bf16;
  expect_error(ErrorKind::config, "device 'own', precision 'bf16'", [&] { predictor->predict(job); });
}

}  // namespace
}  // namespace trainyard::predict
