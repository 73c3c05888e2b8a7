#include "ps/refusal_log.h"

#include <vector>

#include <gtest/gtest.h>

namespace trainyard::ps {
namespace {

TEST(RefusalLog, SaysSomeAMinuteAndHowManyMore) {
  std::vector<std::string> lines;
  RefusalLog log([&](const std::string& line) { lines.push_back(line); });
  for (int i = 0; i < 1000; ++i) log.add("10.0.0.7:99", "no key", 100 + 0.01 * i);
  EXPECT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines[0], "refused 10.0.0.7:99: no key");
  log.look(159);
  EXPECT_EQ(lines.size(), 10u);
  log.look(161);
  ASSERT_EQ(lines.size(), 11u);
  EXPECT_EQ(lines[10], "refused 990 more in 61 s");
  log.look(300);
  log.add("10.0.0.7:99", "no key", 300);
  log.look(400);
  EXPECT_EQ(lines.size(), 12u) << "nothing more to say";
}

}  // namespace
}  // namespace trainyard::ps
