#include "meter/mpstat.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace trainyard::meter {
namespace {

constexpr const char* kMpstatHead = "Linux 6.1.0 (node)  11/16/2026  _x86_64_  (2 CPU)\n\n";
constexpr const char* kMpstatColumns =
    "  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n";

std::string mpstat_block(const std::string& time,
                         const std::vector<std::pair<double, double>>& usr_and_idle) {
  std::string text = time + kMpstatColumns + time + "  all  9 0 0 0 0 0 0 0 0 91\n";
  int core = 0;
  for (const auto& [user, idle] : usr_and_idle)
    text += time + "  " + std::to_string(core++) + "  " + std::to_string(user) + " 0 1 0 0 0 0 0 0 " +
            std::to_string(idle) + "\n";
  return text + "\n";
}

TEST(Mpstat, IntegralsAreThoseOfTrapezoids) {
  const MpstatLog log = parse_mpstat(
      kMpstatHead + mpstat_block("10:00:00", {{10, 80}, {30, 60}}) +
      mpstat_block("10:00:02", {{50, 40}, {70, 20}}) + mpstat_block("10:00:03", {{0, 100}, {0, 100}}) +
      "Average:  all 1 2 3 4 5 6 7 8 9 10\nAverage:  0 1 2 3 4 5 6 7 8 9 10\n");
  ASSERT_EQ(log.blocks.size(), 3u);
  EXPECT_EQ(log.dropped, 0);
  EXPECT_EQ(log.cores(), 2);
  EXPECT_DOUBLE_EQ(integrate_use(log, CpuPart::user), (20 + 60) / 2.0 * 2 + (60 + 0) / 2.0 * 1);
  EXPECT_DOUBLE_EQ(integrate_use(log, CpuPart::busy), (30 + 70) / 2.0 * 2 + (70 + 0) / 2.0 * 1);
}

TEST(Mpstat, TimeGoesOnAcrossMidnightOnEitherClock) {
  for (const auto& [before, after] :
       {std::pair("11:59:58 PM", "12:00:01 AM"), std::pair("23:59:58", "00:00:01")}) {
    const MpstatLog log =
        parse_mpstat(kMpstatHead + mpstat_block(before, {{10, 80}}) + mpstat_block(after, {{10, 80}}));
    ASSERT_EQ(log.blocks.size(), 2u) << before;
    EXPECT_EQ(log.blocks[1].seconds, 3) << before;
  }
  const MpstatLog noon =
      parse_mpstat(kMpstatHead + mpstat_block("11:59:59 AM", {{1, 9}}) +
                   mpstat_block("12:00:04 PM", {{1, 9}}) + mpstat_block("01:00:04 PM", {{1, 9}}));
  EXPECT_EQ(noon.blocks[1].seconds, 5);
  EXPECT_EQ(noon.blocks[2].seconds, 3605);
}

TEST(Mpstat, CutBlocksAreDroppedAndCounted) {
  std::string text = kMpstatHead + mpstat_block("10:00:00", {{10, 80}, {30, 60}}) +
                     mpstat_block("10:00:01", {{10, 80}}) + mpstat_block("10:00:02", {{10, 80}, {30, 60}});
  text += mpstat_block("10:00:03", {{10, 80}, {30, 60}});
  text.resize(text.size() - 12);  // in the midst of a line: the writer was killed
  const MpstatLog log = parse_mpstat(text);
  EXPECT_EQ(log.blocks.size(), 2u);
  EXPECT_EQ(log.dropped, 2);
  EXPECT_EQ(log.blocks[1].seconds, 2);
}

TEST(Mpstat, ReadsDecimalCommas) {
  std::string text = kMpstatHead + mpstat_block("10:00:00", {{12.5, 80.25}});
  std::replace(text.begin(), text.end(), '.', ',');
  EXPECT_EQ(parse_mpstat(text).blocks[0].user[0], 12.5);
  EXPECT_EQ(parse_mpstat(text).blocks[0].busy[0], 19.75);
}

TEST(Mpstat, AnythingElseIsRefused) {
  for (const char* text : {"", "Linux\n", "hello\nworld 1 2 3\n", "10:00:00  CPU\n10:00:00 all\n"})
    expect_error(ErrorKind::config, "mpstat", [&] { parse_mpstat(text); });
}

}  // namespace
}  // namespace trainyard::meter
