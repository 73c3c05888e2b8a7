#include <gtest/gtest.h>

#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "predict/kernels/kernel_model.h"
#include "predict/kernels/test_law.h"

namespace trainyard::predict {
namespace {

// A device with the figures of the other one, on which products take 1.6 and all else 1.1 times as long.
TableRun run_elsewhere(const char* network, std::int64_t batch) {
  TableRun run = run_by_law(network, batch);
  run.device = "RTX2070";
  double before = 0, after = 0;
  for (TimedNode& kernel : run.kernels) {
    before += kernel.seconds;
    kernel.seconds *= kernel.op.starts_with("conv2d") || kernel.op.starts_with("dense") ? 1.6 : 1.1;
    after += kernel.seconds;
  }
  run.seconds *= after / before;
  return run;
}

std::vector<DeviceSheet> alike_devices() {
  DeviceSheet other = find_device(known_devices(), "GTX1080");
  other.name = "RTX2070";
  return {find_device(known_devices(), "GTX1080"), other};
}

RunSet runs_elsewhere(const std::vector<std::pair<const char*, int>>& asked) {
  RunTable table{"elsewhere", {}};
  for (const auto& [network, batch] : asked) table.runs.push_back(run_elsewhere(network, batch));
  return prepare_runs(table, alike_devices());
}

class AdaptKernelsTest : public testing::Test {
 protected:
  AdaptKernelsTest() : base_(fit_kernel_model(set_by_law(), all_rows(set_by_law()))) {}

  Score score_of(const KernelModel& model) const {
    return score(judge(*make_predictor(model), others_, all_rows(others_)));
  }
  double width_of(const KernelModel& model) const {
    const auto predictor = make_predictor(model);
    const Prediction made = predictor->predict(describe(others_.rows[0].run, alike_devices()[1]));
    return made.high_seconds / made.low_seconds;
  }

  KernelModel base_;
  RunSet few_ = runs_elsewhere(
             {{"resnet20", 4}, {"cifarnet", 8}, {"deepmnist", 16}, {"lenet", 8}, {"vgg11", 2}}),
         others_ = runs_elsewhere({{"resnet32", 8}, {"densenet40_k12", 4}, {"lenet", 32}, {"cifarnet", 32}});
};

TEST_F(AdaptKernelsTest, AFewRunsCorrectAndNarrow) {
  const KernelModel adapted = adapt_kernel_model(base_, few_, all_rows(few_));
  const Score before = score_of(base_), after = score_of(adapted);
  EXPECT_GT(before.mape, 0.2);
  EXPECT_LT(after.mape, 0.5 * before.mape);
  EXPECT_LT(width_of(adapted), width_of(base_));
  const Basis basis = make_predictor(adapted)->basis(describe(few_.rows[0].run, alike_devices()[1]));
  EXPECT_TRUE(basis.device_seen);
  EXPECT_EQ(basis.device_runs, 5);
}

TEST_F(AdaptKernelsTest, RunsWithoutKernelsCorrectTheWholeDevice) {
  for (RunSet::Row& row : few_.rows) row.run.kernels.clear();
  const KernelModel adapted = adapt_kernel_model(base_, few_, all_rows(few_));
  EXPECT_LT(score_of(adapted).mape, 0.7 * score_of(base_).mape);
}

TEST_F(AdaptKernelsTest, WhatHelpsNoRunThatIsLeftOutIsNotCorrected) {
  // Half of the runs are twice as slow as expected and half twice as fast: no factor of the device is right.
  RunTable table{"contradictions", {}};
  for (const char* network : {"resnet20", "cifarnet", "deepmnist", "densenet40_k12"})
    for (const double factor : {0.5, 2.0}) {
      TableRun run = run_by_law(network, factor > 1 ? 4 : 16, factor);
      run.device = "RTX2070";
      table.runs.push_back(run);
    }
  const RunSet set = prepare_runs(table, alike_devices());
  const KernelModel adapted = adapt_kernel_model(base_, set, all_rows(set));
  ASSERT_TRUE(adapted.devices().back().adaptation);
  EXPECT_NEAR(adapted.devices().back().adaptation->corrections.whole, 0, 0.2);
  EXPECT_GT(width_of(adapted), width_of(base_));
}

TEST_F(AdaptKernelsTest, FilesKeepWhatWasAdapted) {
  const KernelModel adapted = adapt_kernel_model(base_, few_, all_rows(few_)),
                    read = parse_kernel_model(to_container(adapted), "model");
  EXPECT_EQ(score_of(read).mape, score_of(adapted).mape);
  EXPECT_EQ(width_of(read), width_of(adapted));
}

}  // namespace
}  // namespace trainyard::predict
