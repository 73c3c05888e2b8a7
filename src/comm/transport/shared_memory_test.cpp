#include "comm/transport/shared_memory.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard::comm::transport {
namespace {

struct RingTest : testing::Test {
  void write(std::size_t count) {
    std::vector<std::byte> piece(count);
    for (std::byte& byte : piece) byte = static_cast<std::byte>(next_out++ % 251);
    writer.put(piece);
  }
  void read(std::size_t count) {
    std::vector<std::byte> piece(count);
    reader.take(piece);
    for (const std::byte byte : piece) ASSERT_EQ(byte, static_cast<std::byte>(next_in++ % 251));
  }

  RingControl control;
  std::vector<std::byte> bytes = std::vector<std::byte>(kRingBytes);
  RingWriter writer{{control, bytes.data()}};
  RingReader reader{{control, bytes.data()}};
  std::size_t next_out = 0, next_in = 0;
};

TEST_F(RingTest, WhatGoesRoundComesOutAsItWentIn) {
  for (int round = 0; round < 20; ++round) {
    const std::size_t count = kRingBytes - 1 - static_cast<std::size_t>(round) * 977;
    ASSERT_GE(writer.room(), 1u);
    while (writer.room() < count) ASSERT_FALSE(writer.sleep()) << "all was read";
    write(count);
    EXPECT_EQ(reader.available(1), 0u) << "nothing is seen before it is told";
    writer.publish();
    ASSERT_EQ(reader.available(count), count);
    read(count);
    reader.publish();
  }
}

TEST_F(RingTest, ASleepingReaderIsWokenOnce) {
  EXPECT_TRUE(reader.sleep(40));
  write(10);
  EXPECT_TRUE(writer.publish());
  write(30);
  EXPECT_FALSE(writer.publish());
  EXPECT_FALSE(reader.sleep(40)) << "all that it wants is there";
  write(1);
  EXPECT_FALSE(writer.publish());
}

TEST_F(RingTest, ASleepingWriterIsWokenWhenHalfIsFree) {
  write(kRingBytes);
  writer.publish();
  EXPECT_EQ(writer.room(), 0u);
  EXPECT_TRUE(writer.sleep());
  reader.available(1);
  read(kRingBytes / 2 - 1);
  EXPECT_FALSE(reader.publish());
  read(1);
  EXPECT_TRUE(reader.publish());
  EXPECT_EQ(writer.room(), kRingBytes / 2);
}

TEST_F(RingTest, PlacesThatCannotBeAreRefused) {
  write(kRingBytes);
  writer.publish();
  for (const std::uint64_t place :
       {std::uint64_t{kRingBytes} + 1, std::numeric_limits<std::uint64_t>::max()}) {
    control.written = place;
    EXPECT_THROW(reader.available(1), Error) << place;
    control.read = place;
    EXPECT_THROW(writer.room(), Error) << place;
    EXPECT_THROW(writer.sleep(), Error) << place;
  }
}

}  // namespace
}  // namespace trainyard::comm::transport
