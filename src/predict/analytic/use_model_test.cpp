#include "predict/analytic/use_model.h"

#include <gtest/gtest.h>

#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "predict/analytic/time_model.h"
#include "predict/runs/run_set.h"
#include "predict/runs/test_runs.h"

namespace trainyard::predict {
namespace {

UseSample sample_at(double x, const std::string& device, double burst, double peak) {
  UseSample sample{{}, device, {{"gpu_util", burst, 1 - burst, peak}}};
  sample.place[0] = x;
  return sample;
}

TEST(UseModelTest, IsWhatItSawNearbyAndTheDevicesMeanFarAway) {
  const std::vector<UseSample> samples = {sample_at(0, "A", 0.9, 1), sample_at(0, "A", 0.9, 1),
                                          sample_at(5, "A", 0.5, 0), sample_at(5, "A", 0.5, 0),
                                          sample_at(0, "B", 0.2, 0.3)};
  const UseModel model = UseModel::fit(samples, nullptr);
  const auto at = [&](double x, const char* device) {
    UsePlace place{};
    place[0] = x;
    return model.at(place, device).at(0);
  };
  EXPECT_EQ(at(0, "A").resource, "gpu_util");
  EXPECT_NEAR(at(0, "A").burst, 0.86, 0.05);
  EXPECT_NEAR(at(0, "A").burst + at(0, "A").idle, 1, 1e-12);
  EXPECT_GT(at(0, "A").peak, 0.9);
  EXPECT_LT(at(5, "A").peak, 0.1);
  EXPECT_NEAR(at(20, "A").burst, 0.7, 1e-9);
  EXPECT_NEAR(at(20, "A").peak, 0.5, 1e-9);
  EXPECT_NEAR(at(20, "B").burst, 0.2, 1e-9);
  EXPECT_NEAR(at(20, "C").burst, 0.6, 1e-9);  // never seen: the mean of all runs
  EXPECT_NEAR(model.usual("A").at(0).burst, 0.7, 1e-9);
  EXPECT_TRUE(UseModel().at({}, "A").empty());
}

TEST(UseModelTest, WhatRunsDoNotSayIsNotKnown) {
  UseSample without = sample_at(0, "A", 0.5, std::nan(""));
  const UseModel model = UseModel::fit({without}, nullptr);
  EXPECT_TRUE(std::isfinite(model.at({}, "A").at(0).burst));
  EXPECT_TRUE(std::isnan(model.at({}, "A").at(0).peak));
  without.use.push_back({"cpu_util", 0.25, 0.75, 0});
  const UseModel more = UseModel::fit({without}, &model);
  ASSERT_EQ(more.at({}, "A").size(), 2u);
  EXPECT_NEAR(more.at({}, "A")[1].burst, 0.25, 1e-9);
}

TEST(UseModelTest, ABaseIsNotForgotten) {
  const UseModel base = UseModel::fit({sample_at(0, "A", 0.9, 1), sample_at(5, "A", 0.5, 0)}, nullptr);
  const UseModel same = UseModel::fit({}, &base);
  EXPECT_EQ(same.rows().size(), 2u);
  const UseModel both = UseModel::fit({sample_at(10, "B", 0.1, 0.1)}, &base);
  ASSERT_EQ(both.rows().size(), 3u);
  for (const double x : {0.0, 5.0}) {
    UsePlace place{};
    place[0] = x;
    EXPECT_NEAR(both.at(place, "A")[0].burst, base.at(place, "A")[0].burst, 1e-4);
    EXPECT_NEAR(both.at(place, "A")[0].peak, base.at(place, "A")[0].peak, 1e-4);
  }
  EXPECT_NEAR(both.usual("B")[0].burst, 0.1, 1e-12);
}

// Makes a table with resource use that grows with the batch.
RunTable table_with_use() {
  RunTable table = made_up_table();
  for (TableRun& run : table.runs) {
    const double share = static_cast<double>(run.batch) / 80;
    run.use = {{"GPU Util%", share, 1 - share, share / 2}, {"CPU Util%", 0.5, 0.5, 0}};
  }
  return table;
}

TEST(UseModelTest, ModelsLearnItStoreItAndAreJudgedByIt) {
  const RunSet set = prepare_runs(table_with_use(), known_devices());
  const TimeModel fitted = fit_model(set, all_rows(set), {.calibrate = false});
  const TimeModel model = parse_time_model(to_container(fitted), "here");
  const std::vector<UseScore> scores = score_use(set, judge(model, set, all_rows(set)));
  ASSERT_EQ(scores.size(), 4u);
  EXPECT_EQ(scores[0].resource, "gpu_util");
  EXPECT_STREQ(scores[0].share, "burst");
  EXPECT_EQ(scores[0].runs, set.rows.size());
  EXPECT_LT(scores[0].error, 0.5 * scores[0].usual_error);
  EXPECT_LT(scores[1].error, 0.5 * scores[1].usual_error);
  EXPECT_NEAR(scores[2].usual_error, 0, 1e-12);  // always the same
  EXPECT_LT(scores[2].error, 0.01);
  const RunSet silent = prepare_runs(made_up_table(), known_devices());
  EXPECT_TRUE(score_use(silent, judge(model, silent, all_rows(silent))).empty());
}

TEST(UseModelTest, DamagedTensorsAreRefused) {
  TimeModel model;
  model.use = UseModel::fit({sample_at(0, "A", 0.9, 1)}, nullptr);
  const auto refused = [&](const std::string& part, const std::string& tensor, std::vector<double> numbers,
                           const Shape& shape) {
    ModelContainer container = to_container(model);
    for (ModelTensor& one : container.tensors)
      if (one.name == tensor) one = {tensor, shape, std::move(numbers)};
    try {
      parse_time_model(container, "here");
      ADD_FAILURE() << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused("2 rows of shares", "use_means", {0.5, 0.5}, {1, 2});
  refused("2 rows of shares", "use_means", {0.5, 0.5, 0.5, 1.5}, {2, 2});
  refused("rows of 15", "use", {1, 2, 3}, {1, 3});
}

TEST(ProfileRunTest, IsReadFromARecordOfProfile) {
  record::RunRecord record;
  record.command = "profile";
  record.asked = {{"program", std::string("trainyard bench --network lenet --batch=32 --steps 100 "
                                          "--optimizer adam")},
                  {"hz", 50.0}};
  record.figures["seconds"] = 12.5;
  record.details["profile"] =
      R"({"signals":[{"signal":"cpu_cores","burst_share":0.75,"idle_share":0.25,"peak_share":0.5},)"
      R"({"signal":"resident_bytes","burst_share":0.9,"idle_share":0.1,"peak_share":null},)"
      R"({"signal":"processes","burst_share":0.9,"idle_share":0.1,"peak_share":null}, 7]})";
  const RunTable table = table_of_records({record}, "", "here");
  ASSERT_EQ(table.runs.size(), 1u);
  const TableRun& run = table.runs[0];
  EXPECT_EQ(run.device, "cpu");
  EXPECT_EQ(run.network, "lenet");
  EXPECT_EQ(run.batch, 32);
  EXPECT_EQ(run.optimizer, ops::Rule::adam);
  EXPECT_EQ(run.steps(), 105);
  EXPECT_EQ(run.seconds, 12.5);
  EXPECT_TRUE(run.with_start);
  ASSERT_EQ(run.use.size(), 2u);
  EXPECT_EQ(resource_key(run.use[0].resource), "cpu_util");
  EXPECT_EQ(run.use[0].burst, 0.75);
  EXPECT_EQ(run.use[0].peak, 0.5);
  EXPECT_TRUE(std::isnan(run.use[1].peak));
  record.asked["program"] = std::string("sleep 1");
  EXPECT_FALSE(run_of_profile(record, ""));
}

}  // namespace
}  // namespace trainyard::predict
