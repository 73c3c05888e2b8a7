#include "predict/analytic/uncertainty.h"

#include <gtest/gtest.h>

#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "predict/runs/test_runs.h"

namespace trainyard::predict {
namespace {

Sensitivity sensitive_to(std::size_t constant, double by) {
  Sensitivity sensitivity{};
  sensitivity[constant] = by;
  return sensitivity;
}

TEST(UncertaintyTest, RunsSettleTheConstantsThatTheyDependOn) {
  const Sensitivity products = sensitive_to(kWindow3, 0.5),
                    host = sensitive_to(static_cast<int>(kSharedConstants) + kHostOp, 0.5);
  const ConstantsCovariances nothing = covariances_of({}, 2);
  EXPECT_NEAR(open_variance(nothing.shared, products), 0.25, 1e-9) << "as before any run";
  EXPECT_EQ(open_variance(nothing.shared, host), 0) << "of the shared constants alone";
  const ConstantsCovariances some = covariances_of(std::vector<SettledRun>(200, {products, 0}), 2);
  EXPECT_LT(open_variance(some.devices[0], products), 0.01);
  EXPECT_LT(open_variance(some.devices[1], products), 0.01) << "shared by the devices";
  EXPECT_NEAR(open_variance(some.devices[0], host), 0.25, 1e-9);
  const ConstantsCovariances of_one = covariances_of(std::vector<SettledRun>(200, {host, 0}), 2);
  EXPECT_LT(open_variance(of_one.devices[0], host), 0.01);
  EXPECT_NEAR(open_variance(of_one.devices[1], host), 0.25, 1e-9) << "runs of one say nothing of the other";
  const ConstantsCovariances adapted =
      covariances_of(std::vector<SettledRun>(200, {host, 0}), 1, &some.shared);
  EXPECT_EQ(open_variance(adapted.devices[0], products), open_variance(some.shared, products));
  EXPECT_LT(open_variance(adapted.devices[0], host), 0.01);
  EXPECT_EQ(open_variance({}, products), 0);
}

TEST(UncertaintyTest, DevicesOfOneKindDifferByTheirHostsMost) {
  const Sensitivity card = sensitive_to(static_cast<int>(kSharedConstants) + kCompute, 1),
                    host = sensitive_to(static_cast<int>(kSharedConstants) + kHostStep, 1);
  EXPECT_LT(device_variance(card, true), 0.2 * device_variance(card, false));
  EXPECT_EQ(device_variance(host, true), device_variance(host, false));
  EXPECT_EQ(device_variance(sensitive_to(kWindow3, 1), false), 0);
}

// A half of the interval of a run, as a logarithm.
double half_of(const Prediction& made) { return std::log(made.high_seconds / made.seconds); }

TEST(IntervalTest, WidensOffWhatWasLearned) {
  const RunSet set = prepare_runs(made_up_table(), known_devices());
  const TimeModel model = fit_model(set, all_rows(set), {.learn_use = false});
  const DeviceModel seen = model.find("TitanX", {}), fresh = model.find("H200", known_devices());
  const NetworkWork vgg = work_of({.network = "vgg16", .batch = 64}), &resnet = set.works[9];
  const auto made = [&](const NetworkWork& work, const DeviceModel& on, Campaign campaign) {
    return predict(model, work, on, 5000, true, campaign);
  };
  const Prediction known = made(resnet, seen, Campaign::same);
  EXPECT_FALSE(known.unlike_learned);
  EXPECT_GT(half_of(known), 0);
  EXPECT_GT(half_of(made(resnet, seen, Campaign::other)), 1.2 * half_of(known));
  EXPECT_GT(half_of(made(resnet, fresh, Campaign::same)), 1.2 * half_of(known));
  EXPECT_TRUE(made(vgg, seen, Campaign::same).unlike_learned);
  EXPECT_GT(half_of(made(vgg, seen, Campaign::same)), 1.5 * half_of(known));
  const TimeModel read = parse_time_model(to_container(model), "here");
  for (const char* device : {"TitanX", "H200"})
    EXPECT_EQ(half_of(predict(read, vgg, read.find(device, known_devices()), 5000)),
              half_of(predict(model, vgg, model.find(device, known_devices()), 5000)));
}

TEST(SplitsTest, AnotherCampaignSharesNeitherFamilyNorDevice) {
  const RunSet set = prepare_runs(made_up_table(), known_devices());
  const std::vector<Split> splits = make_splits(set, {SplitKind::campaign});
  EXPECT_EQ(splits.size(), 6u);
  for (const Split& split : splits) {
    ASSERT_FALSE(split.test.empty());
    const TableRun& held = set.rows[split.test[0]].run;
    for (const std::size_t r : split.train) {
      EXPECT_NE(set.rows[r].run.device, held.device);
      EXPECT_NE(set.rows[r].run.network, held.network);
    }
    EXPECT_EQ(split.train.size(), 2u * 8) << "two networks on the other device";
  }
  EXPECT_EQ(make_splits(set, {SplitKind::batch}).size(), 4u);
  EXPECT_EQ(make_splits(set, {SplitKind::epochs}).size(), 2u);
}

}  // namespace
}  // namespace trainyard::predict
