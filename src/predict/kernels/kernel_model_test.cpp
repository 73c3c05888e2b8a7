#include "predict/kernels/kernel_model.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "networks/zoo/zoo.h"
#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "predict/kernels/kernel_times.h"
#include "predict/kernels/test_law.h"
#include "predict/read_predictor.h"

namespace trainyard::predict {
namespace {

TEST(KernelModelTest, AStoppedFitIsTheModelWithoutIntervals) {
  const RunSet set = set_by_law();
  const KernelModel stopped = fit_kernel_model(set, all_rows(set), true, [] { return true; }),
                    whole = fit_kernel_model(set, all_rows(set), false);
  EXPECT_EQ(stopped.intervals.halves, whole.intervals.halves) << "not calibrated";
  EXPECT_EQ(stopped.runs, whole.runs);
  const auto mape = [&](const KernelModel& model) {
    return score(judge(*make_predictor(model), set, all_rows(set))).mape;
  };
  EXPECT_EQ(mape(stopped), mape(whole));
}

TEST(FitRatesTest, FindsTheLawOfKernels) {
  std::vector<KernelShape> shapes;
  for (const std::int64_t batch : {1, 4, 16, 64}) {
    networks::Model model = networks::build_model({.network = "resnet20", .batch = batch});
    networks::add_training_step(model, {});
    const StepShapes step = step_shapes(model.graph, backend::Precision::f32);
    shapes.insert(shapes.end(), step.shapes.begin(), step.shapes.end());
  }
  std::vector<TimedShape> timed;
  for (const KernelShape& shape : shapes) timed.push_back({&shape, kLaw.seconds(shape), 1});
  const Rates found =
      fit_rates(timed, {.flops_per_second = 5e11, .bytes_per_second = 3e10, .launch_seconds = 4e-6});
  double off = 0;  // the prior pulls at what few kernels tell
  for (const KernelShape& shape : shapes) {
    EXPECT_NEAR(found.seconds(shape) / kLaw.seconds(shape), 1, 0.1) << shape.kind;
    off += std::abs(std::log(found.seconds(shape) / kLaw.seconds(shape)));
  }
  EXPECT_LT(off / static_cast<double>(shapes.size()), 0.02);
}

TEST(NearestProcessTest, IsNearWhatWasSeenAndFollowsItsSlope) {
  std::vector<PlacedSample> samples;
  for (int i = 0; i < 8; ++i) samples.push_back({.rates = kLaw, .group = i, .value = 0.1 * i});
  for (int i = 0; i < 8; ++i) samples[static_cast<std::size_t>(i)].place[0] = i;
  const auto at = [&](double x, int without) {
    ShapePlace place{};
    place[0] = x;
    return estimate(samples, nearest(samples, place, kLaw, without), place);
  };
  EXPECT_NEAR(at(3, kNobody).value, 0.3, 0.02);
  EXPECT_NEAR(at(3, 3).value, 0.3, 0.05);
  EXPECT_NEAR(at(9, kNobody).value, 0.9, 0.15);
  EXPECT_GT(at(3, kNobody).known, 0.85);
  EXPECT_LT(at(12, kNobody).known, 0.1);
}

TEST(KernelTimesTest, WhatAlwaysRunsInANeighbourCostsNothing) {
  KernelTimes times;
  const KernelShape shape{
      .kind = "softmax_cross_entropy_grad", .op = "softmax_cross_entropy_grad", .bytes = 1e4};
  for (int run = 0; run < 5; ++run) times.add(shape, {kLaw, run, 0, 0});
  EXPECT_EQ(times.at(shape, kLaw).seconds, 0);
  EXPECT_GT(times.at({.kind = "never seen", .op = "never seen", .bytes = 1e4}, kLaw).seconds, 0);
}

TEST(KernelShapeTest, OneActivationIsNotAnother) {
  const auto kinds = [](const char* network) {
    networks::Model model = networks::build_model({.network = network, .batch = 2});
    networks::add_training_step(model, {});
    std::set<std::string> found;
    for (const KernelShape& shape : step_shapes(model.graph, backend::Precision::f32).shapes)
      found.insert(shape.kind);
    return found;
  };
  EXPECT_TRUE(kinds("mobilenet_v1").contains("activation:relu6<batch_norm>many"));
  EXPECT_TRUE(kinds("resnet20").contains("activation:relu<batch_norm>many"));
}

TEST(KernelModelTest, PredictsANetworkThatWasNeverSeen) {
  const RunSet set = set_by_law();
  const KernelModel model = fit_kernel_model(set, all_rows(set));
  EXPECT_EQ(model.runs, 12);
  for (const double half : model.intervals.halves) EXPECT_GT(half, 0);
  const RunSet others =
      prepare_runs({"others", {run_by_law("resnet32", 4), run_by_law("lenet", 16)}}, known_devices());
  const auto predictor = make_predictor(model);
  for (const Judged& one : judge(*predictor, others, all_rows(others)))
    EXPECT_LT(one.error(), 0.12) << others.rows[one.row].run.network;
}

TEST(KernelModelTest, ADeviceThatWasNeverSeenGoesByItsFigures) {
  const RunSet set = set_by_law();
  const auto predictor = make_predictor(fit_kernel_model(set, all_rows(set), false));
  JobDescription job{.network = "resnet20", .batch = 32, .device = find_device(known_devices(), "GTX1080")};
  const Prediction seen = predictor->predict(job);
  job.device.name = "Fast";
  job.device.flops_per_second *= 4;
  job.device.bytes_per_second *= 4;
  const Prediction faster = predictor->predict(job);
  EXPECT_TRUE(seen.device_seen);
  EXPECT_FALSE(faster.device_seen);
  EXPECT_LT(faster.seconds, 0.6 * seen.seconds);
  job.precision = backend::Precision::bf16;
  expect_error(ErrorKind::config, "precision 'bf16'", [&] { predictor->predict(job); });
}

TEST(KernelModelTest, FilesPredictAsTheModelAndDamageIsNamed) {
  const RunSet set = set_by_law();
  const KernelModel model = fit_kernel_model(set, all_rows(set));
  const TestFolder folder;
  write_model_container(folder.path() / "model", to_container(model));
  const std::vector<Judged> direct = judge(*make_predictor(model), set, all_rows(set)),
                            read = judge(*read_predictor(folder.path() / "model"), set, all_rows(set));
  for (std::size_t i = 0; i < direct.size(); ++i) {
    EXPECT_EQ(direct[i].predicted, read[i].predicted);
    EXPECT_EQ(direct[i].high, read[i].high);
  }
  ModelContainer container = to_container(model);
  std::get<std::vector<double>>(container.tensors[0].numbers)[7] = 7;  // a device that is not there
  expect_error(ErrorKind::config, "out of bounds", [&] { parse_kernel_model(container, "model"); });
}

TEST(KernelModelTest, RunsWithoutKernelsTeachNothing) {
  TableRun run = run_by_law("lenet", 8);
  run.kernels.clear();
  const RunSet set = prepare_runs({"bare", {run}}, known_devices());
  expect_error(ErrorKind::config, "bench ops", [&] { fit_kernel_model(set, all_rows(set)); });
}

}  // namespace
}  // namespace trainyard::predict
