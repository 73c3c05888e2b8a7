#include "trace/chrome_format.h"

#include <sstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "trace/test_rules.h"

namespace trainyard::trace {

namespace {

Trace read(const std::string& text, const ReadLimits& limits = {}) {
  std::istringstream file(text);
  return read_chrome_json(file, limits);
}

std::string complaint(const std::string& text, const ReadLimits& limits = {}) {
  try {
    read(text, limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

TEST(ChromeReader, ReadsPairsBareArraysAndNamesThatComeLate) {
  const Trace trace = read(R"([
    {"ph":"B","pid":"worker","tid":"main","ts":1000000.5,"name":"outer","cat":"x"},
    {"ph":"B","pid":"worker","tid":"main","ts":1000001.5,"name":"inner"},
    {"ph":"i","pid":"worker","tid":"main","ts":1000002,"name":"an instant"},
    {"ph":"E","pid":"worker","tid":"main","ts":1000002.5},
    {"ph":"E","pid":"worker","tid":"main","ts":1000010.5},
    {"ph":"X","pid":3,"tid":4,"ts":1000004.5,"dur":2,"name":"other","args":{"op":"mm","Input Dims":[[1,[2]]]}},
    {"ph":"M","pid":3,"name":"process_name","args":{"name":"GPU 0"}}])");
  ASSERT_EQ(trace.spans.size(), 3u);
  EXPECT_EQ(trace.spans[0].name, "outer");
  EXPECT_DOUBLE_EQ(trace.spans[0].began, 0);
  EXPECT_NEAR(trace.spans[0].seconds, 10e-6, 1e-12);
  EXPECT_NEAR(trace.spans[1].seconds, 1e-6, 1e-12);
  EXPECT_NEAR(trace.spans[2].began, 4e-6, 1e-12);
  EXPECT_EQ(trace.tracks[static_cast<std::size_t>(trace.spans[2].track)].process, "GPU 0");
  EXPECT_EQ(trace.tracks[static_cast<std::size_t>(trace.spans[2].track)].name, "4");
  ASSERT_EQ(trace.spans[2].arguments.size(), 1u);
}

TEST(ChromeReader, SaysWhatIsDamaged) {
  EXPECT_NE(complaint("").find("damaged JSON"), std::string::npos);
  EXPECT_NE(
      complaint("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":").find("after 1 whole events"),
      std::string::npos);
  EXPECT_NE(complaint("{\"runs\":[]}").find("traceEvents"), std::string::npos);
  EXPECT_NE(complaint("17").find("traceEvents"), std::string::npos);
  EXPECT_NE(complaint("[]").find("no spans"), std::string::npos);
  EXPECT_NE(complaint("[3]").find("event 1 is not an object"), std::string::npos);
  EXPECT_NE(complaint(R"([{"ph":"X","ts":5,"dur":-2,"name":"k"}])").find("event 1 'k': \"dur\" is -2"),
            std::string::npos);
  EXPECT_NE(complaint(R"([{"ph":"X","ts":"soon","dur":2}])").find("\"ts\" must be a number"),
            std::string::npos);
  EXPECT_NE(complaint(R"([{"ph":"X","ts":1e300,"dur":2}])").find("\"ts\" is 1e+300"), std::string::npos);
  EXPECT_NE(complaint(R"([{"ph":"X","ts":1e999,"dur":2}])").find("damaged JSON"), std::string::npos);
  EXPECT_NE(complaint(R"([{"ph":"E","ts":1}])").find("has not begun"), std::string::npos);
  EXPECT_NE(complaint(R"([{"ph":"B","ts":1,"name":"b"}])").find("never ended"), std::string::npos);
  EXPECT_NE(complaint(R"([{"ph":"B","ts":5,"name":"b"},{"ph":"E","ts":4}])").find("before it began"),
            std::string::npos);
}

TEST(ChromeReader, RefusesHostileSizesInTime) {
  EXPECT_NE(complaint(std::string(2'000'000, '[')).find("nested deeper than 32"), std::string::npos);
  std::string deep = R"([{"ph":"X","ts":1,"dur":1,"args":)";
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  EXPECT_NE(complaint(deep).find("nested deeper"), std::string::npos);
  std::string many = "[";
  for (int i = 0; i < 11; ++i) many += (i == 0 ? "" : ",") + std::string(R"({"ph":"X","ts":1,"dur":1})");
  EXPECT_NE(complaint(many + "]", {.spans = 10}).find("more than 10 spans"), std::string::npos);
  const Trace cut = read(R"([{"ph":"X","ts":1,"dur":1,"name":")" + std::string(10'000, 'n') + "\"}]");
  EXPECT_EQ(cut.spans[0].name.size(), 4096u);
}

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
