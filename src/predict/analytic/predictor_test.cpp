#include "predict/read_predictor.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "predict/analytic/time_model.h"
#include "predict/runs/test_runs.h"

namespace trainyard::predict {
namespace {

TEST(PredictorTest, AFileOfAModelOfTimePredictsAsTheModel) {
  const RunSet set = prepare_runs(made_up_table(), known_devices());
  const TimeModel model = fit_model(set, all_rows(set), {.calibrate = false});
  const TestFolder folder;
  write_time_model(model, folder.path() / "model");
  const auto read = read_predictor(folder.path() / "model");
  EXPECT_EQ(read->devices(), set.devices);
  const std::vector<Judged> asked = judge(*read, set, all_rows(set)),
                            direct = judge(model, set, all_rows(set));
  ASSERT_EQ(asked.size(), direct.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(asked[i].row, direct[i].row);
    EXPECT_EQ(asked[i].predicted, direct[i].predicted);
    EXPECT_EQ(asked[i].oom_probability, direct[i].oom_probability);
  }
}

TEST(PredictorTest, WhatNothingPredictsIsRefused) {
  const TestFolder folder;
  write_model_container(folder.path() / "tree", {"trainyard-tree", 1, "{}", {}});
  expect_error(ErrorKind::config, "a model of kind 'trainyard-tree', wants one of trainyard-time-model",
               [&] { read_predictor(folder.path() / "tree"); });
  const auto model = make_predictor(TimeModel{});
  JobDescription job{
      .network = "lenet", .device = known_devices().front(), .precision = backend::Precision::bf16};
  expect_error(ErrorKind::config, "precision 'bf16'", [&] { model->predict(job); });
  job.precision = backend::Precision::f32;
  EXPECT_GT(model->predict(job).seconds, 0);
  EXPECT_FALSE(model->predict(job).device_seen);
  job.network = "lonet";
  expect_error(ErrorKind::config, "unknown network 'lonet'", [&] { model->predict(job); });
}

}  // namespace
}  // namespace trainyard::predict
