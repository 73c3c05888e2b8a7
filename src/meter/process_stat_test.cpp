#include "meter/process_stat.h"

#include <gtest/gtest.h>

#include "meter/pace.h"

namespace trainyard::meter {
namespace {

TEST(ProcessStat, NamesMayHoldAnything) {
  const auto stat = parse_process_stat(
      "123 (a) b (c)) S 1 123 1 0 -1 4194304 100 0 0 0 150 25 300 50 20 0 7 0 99 1000000 512 "
      "18446744073709551615 "
      "1 1 0 0\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_DOUBLE_EQ(stat->user_seconds, 1.5);
  EXPECT_DOUBLE_EQ(stat->system_seconds, 0.25);
  EXPECT_DOUBLE_EQ(stat->children_user_seconds, 3);
  EXPECT_DOUBLE_EQ(stat->children_system_seconds, 0.5);
  EXPECT_EQ(stat->threads, 7);
  EXPECT_EQ(stat->resident_bytes % 512, 0);
  EXPECT_GE(stat->resident_bytes, 512 * 4096);
  for (const char* cut : {"", "123 (a", "123 (a) ", "123 (a) S 1 2 3"})
    EXPECT_FALSE(parse_process_stat(cut)) << cut;
}

TEST(ProcessStat, BytesAreThoseOfStorage) {
  const auto io = parse_process_io(
      "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: "
      "9\n");
  ASSERT_TRUE(io);
  EXPECT_EQ(io->read_bytes, 4096);
  EXPECT_EQ(io->written_bytes, 8192);
  EXPECT_FALSE(parse_process_io("rchar: 1\n"));
}

TEST(NetworkCounters, AreSumsOverInterfaces) {
  const NetworkBytes bytes = parse_network(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n"
      "    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n"
      "  eth0:20000 30 0 0 0 0 0 0 5 40 0 0 0 0 0 0\n"
      "lo2: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n");
  EXPECT_EQ(bytes.received, 21001);
  EXPECT_EQ(bytes.sent, 1007);
  EXPECT_EQ(bytes.loopback, 1000);
  EXPECT_EQ(parse_network("").sent, 0);
}

TEST(Pace, WhatTakesLongerIsDueLater) {
  const auto spin = [](double seconds) {
    const double until = thread_cpu_seconds() + seconds;
    while (thread_cpu_seconds() < until) {
    }
  };
  Pace pace(0.01);
  EXPECT_TRUE(pace.due(100));
  pace.run(100, [&] { spin(0.002); });
  EXPECT_FALSE(pace.due(100.19));
  EXPECT_GE(pace.spent_seconds(), 0.002);
  Pace seldom(0.01, 3);
  seldom.run(100, [] {});
  EXPECT_LT(seldom.spent_seconds(), pace.spent_seconds());
  EXPECT_FALSE(seldom.due(102.9));
  EXPECT_TRUE(seldom.due(103));
}

}  // namespace
}  // namespace trainyard::meter
