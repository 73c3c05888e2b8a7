#include "record/resource_trace.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"

namespace trainyard::record {
namespace {

class ResourceTraceFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) const {
    const std::filesystem::path path = folder_.path() / "trace.csv";
    std::ofstream(path) << text;
    return path;
  }
  void expect_refused(const std::string& text, const std::string& part) const {
    try {
      read_resource_trace(write(text), 1);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("trace.csv"), std::string::npos) << error.what();
    }
  }

  TestFolder folder_;
};

TEST_F(ResourceTraceFile, ComesBackAsItWas) {
  ResourceTrace trace;
  trace.seconds = {0, 0.020001, 0.5};
  trace.columns = {{"cpu_seconds", TraceColumn::Kind::counter, 2.0, {0, 0.0123456, 0.0123456}},
                   {"resident_bytes", TraceColumn::Kind::gauge, {}, {123456789012, 5, NAN}}};
  EXPECT_EQ(to_csv(trace),
            "# trainyard-profile 1\n# counter cpu_seconds 2\n# gauge resident_bytes\n"
            "seconds,cpu_seconds,resident_bytes\n0,0,123456789012\n0.020001,0.0123456,5\n0.5,,nan\n");
  const std::filesystem::path path = folder_.path() / "trace.csv";
  write_resource_trace(trace, path);
  const ResourceTrace back = read_resource_trace(path, 1);
  EXPECT_EQ(to_csv(back), to_csv(trace));
  EXPECT_EQ(back.columns[0].capacity, 2.0);
  EXPECT_EQ(back.columns[1].capacity, std::nullopt);
  EXPECT_EQ(back.columns[0].values, trace.columns[0].values);
  EXPECT_EQ(back.find("resident_bytes"), &back.columns[1]);
  EXPECT_EQ(back.find("absent"), nullptr);
}

TEST_F(ResourceTraceFile, TheSeedsMayHaveItsFirstColumnsAlone) {
  const ResourceTrace two = read_resource_trace(write("35, 12\n40, 13\n"), 1),
                      three = read_resource_trace(write("35 %, 12 %, 2048 MiB\n40 %, 13 %, 4096 MiB\n"), 1);
  ASSERT_EQ(two.columns.size(), 2u);
  EXPECT_EQ(two.columns[1].name, "gpu0_memory_busy_fraction");
  EXPECT_NEAR(two.columns[1].values[1], 0.13, 1e-12);
  EXPECT_EQ(three.find("gpu0_memory_used_bytes")->values[1], 4096.0 * 1024 * 1024);
}

TEST_F(ResourceTraceFile, HeadingsTellTheColumnsOfTheSeeds) {
  const ResourceTrace trace = read_resource_trace(
      write("utilization.gpu [%], memory.used [MiB]\n35 %, 2048 MiB\n40 %, 4096 MiB\n"), 1);
  ASSERT_EQ(trace.columns.size(), 2u);
  EXPECT_EQ(trace.columns[1].name, "gpu0_memory_used_bytes");
  const ResourceTrace others =
      read_resource_trace(write("GPU Util%,CPU Util%,GPU Memory\n35,50,2\n40,25,4\n"), 1);
  EXPECT_NEAR(others.find("machine_cpu_fraction")->values[1], 0.25, 1e-12);
  EXPECT_EQ(others.find("gpu0_memory_used_bytes")->values[1], 4.0 * 1024 * 1024);
}

TEST_F(ResourceTraceFile, TheSeedsHasUnitsAndNoTime) {
  for (const char* text : {"97 %, 40 %, 5120 MiB, 12.5, 0, 0\n3 %, 0 %, 1024 MiB, 25, 7, 8\n",
                           "gpu,mem,memory,cpu,tx,rx\r\n97,40,5120,12.5,0,0\r\n3,0,1024,25,7,8\r\n\r\n"}) {
    const ResourceTrace trace = read_resource_trace(write(text), 4);
    EXPECT_EQ(trace.seconds, (std::vector<double>{0.25, 0.5}));
    EXPECT_DOUBLE_EQ(trace.find("gpu0_busy_fraction")->values[0], 0.97);
    EXPECT_DOUBLE_EQ(trace.find("gpu0_memory_used_bytes")->values[1], 1073741824.0);
    EXPECT_DOUBLE_EQ(trace.find("machine_cpu_fraction")->values[1], 0.25);
    EXPECT_EQ(trace.find("rx")->values[1], 8);
  }
}

TEST_F(ResourceTraceFile, SaysWhatIsWrongAndWhere) {
  const std::string head = "# trainyard-profile 1\n# counter a 2\nseconds,a\n";
  expect_refused("", "empty");
  expect_refused(head + "0,1\n", "fewer than two samples");
  expect_refused(head + "0,1\n1\n", "line 5: 1 cells, not 2");
  expect_refused(head + "0,1\n1,x\n", "line 5: 'x' is no number");
  expect_refused(head + "1,1\n1,1\n", "line 5: 1 s does not come after 1 s");
  expect_refused("# trainyard-profile 1\n# meter a\nseconds,a\n", "line 2: '# meter a' says no column");
  expect_refused("# trainyard-profile 1\n# gauge a\nseconds,b\n", "line 3: the columns are not 'seconds,a'");
  expect_refused("1\n2\n", "line 1: 1 cells");
  expect_refused("1,2,3\n4,5\n", "line 2: 2 cells");
  expect_refused("1,2,3,4,5,6\n1,2,3,x,5,6\n", "line 2: 'x' is no number");
}

}  // namespace
}  // namespace trainyard::record
