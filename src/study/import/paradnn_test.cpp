#include "study/import/paradnn.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::study {
namespace {

using record::RunRecord;
using record::Status;

// Two points that finished and two that did not, in the form of gpu_fc.json. 6.97 is 6 B P of one shard.
constexpr const char* kSweep = R"({
  "states": ["OOM", "no error but not finished"],
  "err_jobs": ["layer_128-node_8192-input_2000-output_1000-bs_64", "layer_4-node_32-input_2000-output_1000-bs_64"],
  "labels": ["layer_64-node_512-input_2000-output_1000-bs_64", "layer_4-node_512-input_2000-output_1000-bs_8192"],
  "params": [18080000.0, 2330000.0], "fl": [6.97, 114.23], "flops": [625.7, 450.5], "intensity": [96.4, 12256.4],
  "step_per_sec": [89.7709, 3.94435], "example_per_sec": [5745.3376, 32312.1152]})";

std::string message_of(std::string_view text) {
  try {
    import_paradnn("x.json", text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(ImportParadnn, ReadsLabels) {
  const auto found = parse_fc_label("layer_4-node_32-input_2000-output_1000-bs_64-non-fusion elementwise");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->point.layers, 4);
  EXPECT_EQ(found->point.batch, 64);
  EXPECT_EQ(found->rest, "non-fusion elementwise");
  EXPECT_EQ(parse_fc_label("bs_1-layer_4-node_32-input_20-output_10")->point.batch, 1);
  for (const char* wrong :
       {"", "layer_4", "layer_4-layer_4-input_2-output_1-bs_6", "layer_x-node_32-input_2-output_1-bs_6",
        "layer_0-node_32-input_2-output_1-bs_6", "layer_4-node_32-input_2-output_1-bs_6x"})
    EXPECT_FALSE(parse_fc_label(wrong)) << wrong;
}

TEST(ImportParadnn, ReadsASweep) {
  ASSERT_TRUE(is_paradnn(kSweep));
  const std::vector<RunRecord> runs = import_paradnn("gpu_fc.json", kSweep);
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(
      record::to_text(runs[0].asked),
      "batch 64, classes 1000, device gpu, inputs 2000, layers 64, network fc, optimizer rmsprop, width 512");
  EXPECT_EQ(runs[0].images_per_second, 5745.3376);
  EXPECT_EQ(runs[0].figures.at("parameters"), 63 * 512 * 512 + 512 * 3000 + 64 * 512 + 1000);
  EXPECT_EQ(runs[0].figures.at("flops_per_step"),
            6.0 * 64 * (63 * 512 * 512 + 512 * 3000) - 2.0 * 64 * 512 * 2000);
  EXPECT_EQ(runs[0].figures.at("published_flops_per_second"), 625.7e9);
  EXPECT_EQ(runs[2].status, Status::oom);
  EXPECT_EQ(runs[2].asked.at("width"), record::Value(std::int64_t{8192}));
  EXPECT_EQ(runs[3].status, Status::failed);
  EXPECT_EQ(runs[3].reason, "no error but not finished");
  EXPECT_FALSE(runs[3].images_per_second);
}

TEST(ImportParadnn, TellsShardsOfATpuByItsCounts) {
  std::string text = kSweep;
  text.replace(text.find("6.97, 114.23"), 12, "0.88, 14.280");
  const std::vector<RunRecord> runs = import_paradnn("any name.json", text);
  EXPECT_EQ(runs[0].asked.at("device"), record::Value(std::string("tpu")));
  EXPECT_EQ(runs[0].figures.at("published_flops_per_second"), 8 * 625.7e9);
  EXPECT_EQ(runs[3].asked.at("device"), record::Value(std::string("tpu")));
}

TEST(ImportParadnn, ReadsATrace) {
  const std::vector<RunRecord> runs = import_paradnn("t.json", R"({
    "labels": ["layer_8-node_1024-input_2000-output_1000-bs_4096"], "time_perc": [100], "flops_perc": [10.5],
    "flops_trace": [[10.5, 9.5]], "flops_perc_m": [10.0], "flops_perc_std": [0.5], "memory_bandwidth": [18.2],
    "rawMB": [4828816.5], "intensity": [43.0], "infeed": [55.5], "infeed_m": [55.5], "infeed_std": [20.7],
    "infeed_trace": [[55.5]]})");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].figures.at("peak_fraction"), 0.105);
  EXPECT_DOUBLE_EQ(runs[0].figures.at("input_wait_fraction"), 0.555);
  EXPECT_EQ(runs[0].figures.at("flops_per_byte"), 43.0);
  EXPECT_EQ(runs[0].details.at("captured_peak_percent"), "[10.5,9.5]");
}

TEST(ImportParadnn, ReadsAnOpBreakdownWithNumbersThatAreNone) {
  const std::vector<RunRecord> runs = import_paradnn("ops.json", R"({
    "labels": ["layer_8-node_1024-input_2000-output_1000-bs_4096-after-all",
               "layer_8-node_1024-input_2000-output_1000-bs_4096-output fusion"],
    "time_perc": [0.5, 99.5], "flops_perc": [0.0, 40.0], "memory_bandwidth": [0, 50], "rawMB": [0.0, 2.0],
    "intensity": [NaN, 30.0]})");
  ASSERT_EQ(runs.size(), 1u);
  const std::string& categories = runs[0].details.at("ops");
  EXPECT_NE(categories.find("\"category\":\"output fusion\""), std::string::npos) << categories;
  EXPECT_NE(categories.find("\"flops\":60000000.0"), std::string::npos) << categories;
  EXPECT_NE(categories.find("\"flops\":0"), std::string::npos) << categories;
}

TEST(ImportParadnn, NamesWhatIsDamaged) {
  const std::string text = kSweep;
  EXPECT_NE(message_of(text.substr(0, 300)).find("'x.json': not JSON at byte 30"), std::string::npos)
      << message_of(text.substr(0, 300));
  // A non-number before the damage does not shift the reported byte.
  EXPECT_NE(message_of(R"({"labels": [NaN, NaN], "x": ?})").find("byte 29 of 30"), std::string::npos)
      << message_of(R"({"labels": [NaN, NaN], "x": ?})");
  const auto damaged = [&](const std::string& part, const std::string& instead) {
    std::string copy = text;
    copy.replace(copy.find(part), part.size(), instead);
    return message_of(copy);
  };
  EXPECT_EQ(damaged("[89.7709, 3.94435]", "[89.7709]"), "");  // not used
  EXPECT_EQ(damaged("[6.97, 114.23]", "[6.97]"), "'x.json': 'fl' has 1 entries, the labels are 2");
  EXPECT_EQ(damaged("114.23", "\"much\""), "'x.json': fl[1] is no number");
  EXPECT_EQ(damaged("layer_64-node_512", "layer_64-node_none"),
            "'x.json': labels[0] is 'layer_64-node_none-input_2000-output_1000-bs_64', not "
            "layer_L-node_N-input_I-output_O-bs_B");
  EXPECT_EQ(damaged("\"states\"", "\"state\""), "'x.json': no array 'states'");
  EXPECT_EQ(message_of("{}"), "'x.json': neither a sweep, a trace nor an op breakdown of ParaDnn");
}

}  // namespace
}  // namespace trainyard::study
