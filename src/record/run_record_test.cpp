#include "record/run_record.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::record {
namespace {

RunRecord example() {
  RunRecord run;
  run.id = "00ff-r2-a3";
  run.study = "quick </script> \"start\"";
  run.cell = "00ff";
  run.replicate = 2;
  run.attempt = 3;
  run.status = Status::timeout;
  run.reason = "over its limit";
  run.exit_code = 137;
  run.command = "bench";
  run.asked = {{"batch", std::int64_t{50}}, {"lr", 0.001}, {"network", std::string("lenet")}, {"fuse", true}};
  run.node = "gpu006";
  run.started_seconds = 1528130324.25;
  run.wall_seconds = 397.762;
  run.warmup_step_seconds = {0.5, 0.1};
  run.step_seconds = {0.1, 1.0 / 3, 0.0189142023802};
  run.images_per_step = 50;
  run.statistics.steps = 3;
  run.statistics.median = 0.1;
  run.statistics.outliers = {1};
  run.statistics.steady = false;
  run.statistics.mean_interval = {0.05, 0.2};
  run.statistics.legacy = {0.0189142023802, 2643.51617874, 3.94097403, 340.057168827};
  run.images_per_second = 500;
  run.figures = {{"parameters", 3274634}, {"test_accuracy", 0.9922}};
  run.words = {{"backend", "onednn"}};
  run.details = {{"staging_files", R"([{"bytes":3,"name":"a"}])"}};
  run.provenance = {{"cpu", "model", std::string("Xeon")}, {"cpu", "cores", std::int64_t{2}}};
  run.warnings = {{"load", "busy"}};
  return run;
}

TEST(RunRecord, SurvivesTheRoundTripExactly) {
  const RunRecord run = example(), back = run_record_from_json(to_json(run));
  EXPECT_EQ(to_json(back), to_json(run));
  EXPECT_EQ(back.asked, run.asked);
  EXPECT_EQ(back.step_seconds, run.step_seconds);
  EXPECT_EQ(back.status, Status::timeout);
  EXPECT_EQ(back.figures, run.figures);
  EXPECT_EQ(back.words, run.words);
  EXPECT_EQ(back.details, run.details);
  EXPECT_EQ(back.provenance.size(), 2u);
  EXPECT_EQ(back.statistics.legacy.speed_jitter, 340.057168827);
  EXPECT_FALSE(back.statistics.steady);
}

TEST(RunRecord, WholeNumbersHaveNoPointAndUnknownOnesAreNull) {
  RunRecord run = example();
  run.figures["final_loss"] = std::numeric_limits<double>::quiet_NaN();
  const std::string text = to_json(run);
  EXPECT_NE(text.find("\"parameters\":3274634,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"final_loss\":null"), std::string::npos) << text;
}

TEST(RunRecord, RefusesWhatIsNone) {
  EXPECT_THROW(run_record_from_json("[1, 2]"), Error);
  EXPECT_THROW(run_record_from_json("{\"id\": \"a\""), Error);
  EXPECT_THROW(run_record_from_json("{\"id\": 7}"), Error);
  EXPECT_THROW(run_record_from_json("{\"schema\": 99}"), Error);
  EXPECT_THROW(run_record_from_json("{\"status\": \"fine\"}"), Error);
}

TEST(Value, TextReadsBackAsTheSameValue) {
  for (const Value& value : {Value(true), Value(std::int64_t{-7}), Value(0.1), Value(1e-30), Value(2.0),
                             Value(std::string("adam"))})
    EXPECT_EQ(to_value(to_text(value)), value) << to_text(value);
  EXPECT_EQ(to_value("nan"), Value(std::string("nan")));
  EXPECT_EQ(to_value("1e-3"), Value(0.001));
  EXPECT_EQ(to_value("50 "), Value(std::string("50 ")));
}

TEST(RunRecord, PeakMemoryIsTheDevices) {
  RunRecord run;
  run.figures["peak_memory_bytes"] = 3 << 20;
  run.words["backend"] = "onednn";
  EXPECT_EQ(peak_memory_text(run), "3.00 MiB");
  run.words["backend"] = "cuda";
  EXPECT_EQ(peak_memory_text(run), "not known of the GPU, 3.00 MiB of the host");
  run.figures["device_memory_bytes"] = 2.5 * (1 << 30);
  EXPECT_EQ(peak_memory_text(run), "2.50 GiB of the GPU, 3.00 MiB of the host");
}

}  // namespace
}  // namespace trainyard::record
