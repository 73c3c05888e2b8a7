#include "trace/chrome_writer.h"

#include <sstream>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "trace/chrome_reader.h"
#include "trace/test_rules.h"

namespace trainyard::trace {
namespace {

Trace small_trace() {
  Trace trace;
  const int steps = trace.track({"device 0", "steps", 1}), input = trace.track({"device 0", "input", 1});
  trace.facts = {{"network", "lenet \"5\""}};
  // Added inside out, as they end; on a clock that began long ago.
  trace.spans.push_back({steps, "conv1", "conv", 1e5 + 1e-3, 2e-3, {{"op", "conv2d"}, {"flops", 800}}});
  trace.spans.push_back({steps, "forward", "phase", 1e5 + 1e-3, 3e-3, {}});
  trace.spans.push_back({steps, "step 7", "step", 1e5, 5e-3, {{"step", 7}}});
  trace.spans.push_back({input, "batch 8", "input", 1e5 + 4e-3, 4e-3, {}});
  trace.counters.push_back({steps, "GFLOP/s", 1e5 + 1e-3, 0.25});
  return trace;
}

const std::vector<std::string> kNothing;

TEST(ChromeWriter, KeepsTheRules) { EXPECT_EQ(broken_rules(to_chrome_json(small_trace())), kNothing); }

TEST(ChromeWriter, ReadBackItIsTheSame) {
  std::istringstream file(to_chrome_json(small_trace()));
  const Trace read = read_chrome_json(file);
  EXPECT_EQ(read.facts, small_trace().facts);
  ASSERT_EQ(read.spans.size(), 4u);
  EXPECT_EQ(read.spans[0].name, "step 7");  // the outer ones first
  EXPECT_EQ(read.spans[1].name, "forward");
  const Span& kernel = read.spans[2];
  EXPECT_EQ(kernel.category, "conv");
  EXPECT_NEAR(kernel.began, 1e-3, 1e-9);
  EXPECT_NEAR(kernel.seconds, 2e-3, 1e-9);
  EXPECT_EQ(*kernel.text("op"), "conv2d");
  EXPECT_EQ(*kernel.number("flops"), 800);
  EXPECT_EQ(kernel.number("op"), nullptr);
  EXPECT_EQ(read.tracks[static_cast<std::size_t>(kernel.track)].name, "steps");
  EXPECT_EQ(read.tracks[static_cast<std::size_t>(read.spans[3].track)].name, "input");
  ASSERT_EQ(read.counters.size(), 1u);
  EXPECT_EQ(read.counters[0].value, 0.25);
}

TEST(ChromeWriter, AFileThatCannotBeWrittenLeavesNothing) {
  const TestFolder folder;
  EXPECT_THROW(write_chrome_json(small_trace(), folder.path() / "no" / "trace.json"), Error);
  write_chrome_json(small_trace(), folder.path() / "trace.json");
  EXPECT_EQ(read_chrome_file(folder.path() / "trace.json").spans.size(), 4u);
}

// The rules themselves find what they are for.
TEST(TraceRules, FindEachFault) {
  const auto found = [](const std::string& events) {
    const std::string names =
        R"({"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"p"}},
           {"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"t"}},)";
    const auto lines = broken_rules(R"({"displayTimeUnit":"ms","traceEvents":[)" + names + events + "]}");
    return lines.empty() ? std::string("none") : lines.front();
  };
  const auto span = [](double began, double length) {
    return fmt::format(R"({{"ph":"X","pid":1,"tid":0,"ts":{},"dur":{},"name":"a","cat":"c"}})", began,
                       length);
  };
  EXPECT_EQ(found(span(0, 10) + "," + span(2, 8) + "," + span(10, 1)), "none");
  EXPECT_NE(found(span(0, 10) + "," + span(2, 9)).find("behind the one"), std::string::npos);
  EXPECT_NE(found(span(5, 1) + "," + span(2, 1)).find("before the one"), std::string::npos);
  EXPECT_NE(found(span(0, -1)).find("negative"), std::string::npos);
  EXPECT_NE(found(R"({"ph":"X","pid":1,"tid":0,"ts":1,"name":"a","cat":"c"})").find("\"dur\""),
            std::string::npos);
  EXPECT_NE(found(R"({"ph":"X","pid":2,"tid":0,"ts":1,"dur":1,"name":"a","cat":"c"})").find("no name"),
            std::string::npos);
  EXPECT_NE(found(R"({"ph":"Q","pid":1,"tid":0,"ts":1,"name":"a"})").find("none of"), std::string::npos);
  EXPECT_FALSE(broken_rules("[]").empty());
}

}  // namespace
}  // namespace trainyard::trace
