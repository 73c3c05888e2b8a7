#include "study/import_remake.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::study {
namespace {

using record::RunRecord;

constexpr const char* kTable =
    "device,input_type,layers,nodes,batch_size,input_size,output_size,#params,duration,tflops\n"
    "Tesla T4, f32, 4, 32, 64, 2000, 200, 73472, 0.25, 0.01\n"
    "Tesla T4, f32, 4, 32, 64, 2000, 200, 73472, 0.5, 0.005\r\n"
    "Tesla T4, f16, 128, 8192, 64, 2000, 200, 73472, 0, 0\n\n";

std::string message_of_row(const std::string& row) {
  try {
    import_remake("t.csv", kTable + row);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(ImportRemake, ReadsRowsReplicatesAndMemoryThatRanOut) {
  ASSERT_TRUE(is_remake(kTable));
  const std::vector<RunRecord> runs = import_remake("t.csv", kTable);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(record::to_text(runs[0].asked),
            "batch 64, classes 200, device Tesla T4, inputs 2000, layers 4, network fc, optimizer adam, "
            "precision f32, width 32");
  EXPECT_DOUBLE_EQ(*runs[0].images_per_second, 64 / 0.0025);
  // Four hidden matrices, one more than the published formula counts; the input has no gradient.
  EXPECT_EQ(runs[0].figures.at("parameters"), 4 * 32 * 32 + 32 * 2200 + 5 * 32 + 200);
  EXPECT_EQ(runs[0].figures.at("flops_per_step"), 6 * 64 * (4 * 32 * 32 + 32 * 2200) - 2 * 64 * 32 * 2000);
  EXPECT_EQ(runs[0].figures.at("published_flops_per_second"), 1e10);
  EXPECT_NE(runs[0].id, runs[1].id);
  EXPECT_EQ(runs[0].asked, runs[1].asked);
  EXPECT_EQ(runs[2].status, record::Status::oom);
  EXPECT_FALSE(runs[2].figures.contains("bytes_per_step"));
}

TEST(ImportRemake, NamesTheLineThatIsDamaged) {
  EXPECT_EQ(message_of_row("Tesla T4, f32, 4\n"), "'t.csv' line 6: 3 fields, 10 are needed");
  EXPECT_EQ(message_of_row("Tesla T4, f32, 4, 32, 64, 2000, 200, 7, 0.2, 0.1, 5\n"),
            "'t.csv' line 6: 11 fields, 10 are needed");
  EXPECT_EQ(message_of_row("Tesla T4, f32, four, 32, 64, 2000, 200, 7, 0.2, 0.1\n"),
            "'t.csv' line 6: layers is 'four', not a number from 1");
  EXPECT_EQ(message_of_row("Tesla T4, f32, 4, 32, 64, 2000, 200, 7, nan, 0.1\n"),
            "'t.csv' line 6: duration is 'nan', not a number from 0");
  EXPECT_EQ(message_of_row("Tesla T4, f32, 4, 0, 64, 2000, 200, 7, 1, 0.1\n"),
            "'t.csv' line 6: nodes is '0', not a number from 1");
  EXPECT_THROW(import_remake("t.csv", "device,input_type,layers\n"), Error);
}

}  // namespace
}  // namespace trainyard::study
