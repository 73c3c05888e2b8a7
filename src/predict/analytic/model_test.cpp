#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/test_damage.h"
#include "base/test_folder.h"
#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "predict/analytic/time_model.h"
#include "predict/runs/test_runs.h"

namespace trainyard::predict {
namespace {

RunSet made_up_set() { return prepare_runs(made_up_table(), known_devices()); }

TEST(ResidualTest, IsWhatItSawNearbyAndNothingFarAway) {
  Place here{}, far{};
  far[0] = 10;
  const Residual residual({{here, 0.1, 100}});
  EXPECT_NEAR(residual.at(here).mean, 0.1, 0.01);
  EXPECT_GT(residual.at(here).known, 0.9);
  EXPECT_NEAR(residual.at(far).mean, 0, 1e-9);
  EXPECT_NEAR(residual.at(far).known, 0, 1e-9);
  EXPECT_EQ(Residual().at(here).mean, 0);
}

TEST(TimeModelTest, LearnsRunsAndSaysHowSureItIs) {
  const RunSet set = made_up_set();
  const TimeModel model = fit_model(set, all_rows(set));
  const Score seen = score(judge(model, set, all_rows(set)));
  EXPECT_LT(seen.mape, 0.04);
  EXPECT_GT(seen.spearman, 0.98);
  EXPECT_GE(seen.coverage, 0.85);
  EXPECT_GT(model.calibration.fresh, model.calibration.known);
  EXPECT_EQ(model.networks.size(), 3u);
  // Twice the epochs, twice the steps: epochs are no feature.
  const NetworkWork& work = set.works[0];
  const DeviceModel on = model.find("titanx", {});
  const Prediction once = predict(model, work, on, 1000), twice = predict(model, work, on, 2000);
  EXPECT_NEAR(twice.seconds - once.seconds, 1000 * once.step_seconds, 0.01 * once.seconds);
  EXPECT_LT(once.low_seconds, once.seconds);
  EXPECT_GT(once.high_seconds, once.seconds);
}

TEST(TimeModelTest, AStoppedFitIsTheModelWithoutIntervals) {
  const RunSet set = made_up_set();
  int asked = 0;
  const TimeModel model = fit_model(set, all_rows(set), {.stop = [&] { return ++asked == 2; }});
  EXPECT_EQ(asked, 2) << "between networks that are held out";
  EXPECT_EQ(model.calibration.known, 0);
  EXPECT_EQ(model.calibration.fresh, 0);
  const TimeModel whole = fit_model(set, all_rows(set), {.calibrate = false});
  EXPECT_EQ(model.shared, whole.shared);
  EXPECT_EQ(score(judge(model, set, all_rows(set))).mape, score(judge(whole, set, all_rows(set))).mape);
}

TEST(TimeModelTest, ADeviceThatWasNeverSeenHasAnAverageHost) {
  const RunSet set = made_up_set();
  const TimeModel model = fit_model(set, all_rows(set), {.calibrate = false});
  const DeviceModel on = model.find("H200", known_devices());
  EXPECT_EQ(on.runs, 0);
  EXPECT_GT(on.constants[kHostOp], 0);
  EXPECT_THROW(model.find("H200", {}), Error);
}

TEST(TimeModelTest, FewRunsAdaptABaseToADevice) {
  RunTable table = made_up_table();
  for (TableRun& run : table.runs)
    if (run.device == "TitanX") run.seconds *= 1.5;
  const RunSet set = prepare_runs(table, known_devices());
  const TimeModel base = fit_model(set, rows_of_device(set, "GTX1080"), {.calibrate = false});
  const Split split = few_shot(set, "TitanX", 8, 1);
  const TimeModel adapted = fit_model(set, split.train, {.calibrate = false, .base = &base});
  EXPECT_EQ(adapted.shared, base.shared);
  EXPECT_EQ(adapted.devices[0].constants, base.devices[0].constants);
  EXPECT_LT(score(judge(adapted, set, split.test)).mape, 0.5 * score(judge(base, set, split.test)).mape);
}

TEST(TimeModelFileTest, SurvivesTheRoundTripExactly) {
  const RunSet set = made_up_set();
  const TimeModel model = fit_model(set, all_rows(set), {.calibrate = false});
  const TestFolder folder;
  write_time_model(model, folder.path() / "a");
  const TimeModel back = read_time_model(folder.path() / "a");
  write_time_model(back, folder.path() / "b");
  EXPECT_EQ(read_file(folder.path() / "a"), read_file(folder.path() / "b"));
  const Prediction a = predict(model, set.works[0], model.devices[0], 100),
                   b = predict(back, set.works[0], back.devices[0], 100);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.oom_probability, b.oom_probability);
}

TEST(TimeModelFileTest, WhatIsOutOfBoundsIsRefused) {
  const ModelContainer valid = to_container(TimeModel{});
  EXPECT_NO_THROW(parse_time_model(valid, "here"));
  const auto refused = [](const std::string& part, const ModelContainer& broken) {
    expect_error(ErrorKind::config, part, [&] { parse_time_model(broken, "here"); });
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    ModelContainer broken = valid;
    broken.description.replace(broken.description.find(from), from.size(), to);
    return broken;
  };
  const auto with_rows = [&](const Shape& shape, std::vector<double> numbers) {
    ModelContainer broken = valid;
    broken.tensors = {{"residual", shape, std::move(numbers)}};
    return broken;
  };
  ModelContainer newer = valid, other = valid, empty = valid, single = valid;
  newer.version = kTimeModelVersion + 1;
  refused("version 5 of a 'trainyard-time-model', 4 expected", newer);
  other.schema = "trainyard-tree";
  refused("a model of kind 'trainyard-tree'", other);
  empty.tensors.clear();
  refused("tensor 'residual' is missing", empty);
  single.tensors = {{"residual", {0, 14}, std::vector<float>{}}};
  refused("is 0x14 of f32, wants f64", single);
  refused("window3_efficiency: wants", with("\"window3_efficiency\":2.0", "\"window3_efficiency\":-1"));
  refused("devices.name", with("\"devices\":[]", "\"devices\":[{}]"));
  refused("networks: wants texts", with("\"networks\":[]", "\"networks\":[7]"));
  refused("memory: wants an object", with("\"memory\":{", "\"memory\":7,\"was\":{"));
  refused("at most 4000 rows of 14", with_rows({1, 2}, {1, 2}));
  refused("at most 4000 rows of 14", with_rows({4001, 14}, std::vector<double>(4001 * 14, 1)));
  refused("row 0 of tensor 'residual' is out of bounds", with_rows({1, 14}, std::vector<double>(14, 0)));
  refused("not finite", with_rows({1, 14}, std::vector<double>(14, std::nan(""))));
}

TEST(TimeModelFileTest, CorpusIsRefusedOrRead) {
  const auto read = [](const std::string& file) {
    parse_time_model(
        parse_model_container({reinterpret_cast<const std::byte*>(file.data()), file.size()}, "here"),
        "here");
  };
  EXPECT_GE(replay_corpus("time_model", read), 4);
}

TEST(TimeModelFileTest, JsonOfBeforeIsRefusedInOneLine) {
  const TestFolder folder;
  std::ofstream(folder.path() / "old.json") << "{\"schema\":\"trainyard-time-model\",\"version\":1}\n";
  expect_error(ErrorKind::config, "`predict fit` makes a new one",
               [&] { read_time_model(folder.path() / "old.json"); });
}

TEST(SplitsTest, NothingIsOnBothSides) {
  const RunSet set = made_up_set();
  for (const SplitKind kind : {SplitKind::network, SplitKind::family, SplitKind::device, SplitKind::random})
    for (const Split& split : make_splits(set, {kind})) {
      EXPECT_NO_THROW(check_no_leak(set, split, kind));
      EXPECT_EQ(split.train.size() + split.validation.size() + split.test.size(), set.rows.size());
    }
  Split leaking = make_splits(set, {SplitKind::network})[0];
  leaking.train.push_back(leaking.test.back());
  leaking.test.pop_back();
  EXPECT_THROW(check_no_leak(set, leaking, SplitKind::network), Error);
}

TEST(SplitsTest, RandomOnesAreOfEachDeviceAndKeepTwinsTogether) {
  const RunSet set = made_up_set();
  const Split split = make_splits(set, {SplitKind::random, 3, true})[0];
  for (const std::size_t test : split.test)
    for (const std::size_t train : split.train) {
      const TableRun &a = set.rows[test].run, &b = set.rows[train].run;
      EXPECT_FALSE(a.device == b.device && a.network == b.network && a.batch == b.batch);
    }
  const Split plain = make_splits(set, {SplitKind::random, 3})[0];
  EXPECT_EQ(plain.train, make_splits(set, {SplitKind::random, 3})[0].train);
  EXPECT_NE(plain.train, make_splits(set, {SplitKind::random, 4})[0].train);
  EXPECT_NEAR(static_cast<double>(plain.test.size()), 0.2 * static_cast<double>(set.rows.size()), 2);
}

TEST(ScoreTest, SaysErrorsOrderAndCoverage) {
  const Score result = score({{0, 100, 110, 90, 130, false, 0},
                              {1, 200, 150, 160, 170, false, 0.9},
                              {2, 20, 999, 0, 0, true, 0.2},
                              {3, 20, 999, 0, 0, true, 0.7}});
  EXPECT_EQ(result.memory_runs, 0u);
  EXPECT_EQ(result.runs, 2u);
  EXPECT_NEAR(result.mape, (0.1 + 0.25) / 2, 1e-12);
  EXPECT_EQ(result.coverage, 0.5);
  EXPECT_EQ(result.oom, 2u);
  EXPECT_EQ(result.oom_missed, 1u);
  EXPECT_EQ(result.oom_false, 1u);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {10, 20, 15}), 0.5);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 1, 2}, {3, 3, 9}), 1);
}

TEST(ScoreTest, JudgesMemoryWhereItWasMeasured) {
  std::vector<Judged> judged(3, {0, 100, 110, 90, 130, false, 0});
  judged[0].measured_bytes = 100, judged[0].predicted_bytes = 90;
  judged[1].measured_bytes = 200, judged[1].predicted_bytes = 260;
  judged[2].predicted_bytes = 7;  // nobody measured it
  const Score result = score(judged);
  EXPECT_EQ(result.runs, 3u);
  EXPECT_EQ(result.memory_runs, 2u);
  EXPECT_NEAR(result.memory_mape, (0.1 + 0.3) / 2, 1e-12);
  EXPECT_NEAR(result.memory_median, 0.2, 1e-12);
}

}  // namespace
}  // namespace trainyard::predict
