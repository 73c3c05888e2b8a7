#include "trace/chrome_reader.h"

#include <sstream>

#include <gtest/gtest.h>

#include "base/error.h"

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

}  // namespace
}  // namespace trainyard::trace
