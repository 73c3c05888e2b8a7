#include "data/source/record_example.h"

#include <gtest/gtest.h>

#include "data/source/test_set.h"

namespace trainyard::data {

namespace {

// A separate program, whose CRC goes bit by bit, made these bytes.
constexpr std::string_view kFramedNothing = "000000000000000029039807d8ea82a2",
                           kFramedAbc = "0300000000000000b099490e6162636e57f121";

TEST(RecordFrame, HasTheBytesOfTfrecord) {
  std::string out;
  append_frame(out, "");
  EXPECT_EQ(out, from_hex(kFramedNothing));
  append_frame(out, "abc");
  EXPECT_EQ(out, from_hex(kFramedNothing) + from_hex(kFramedAbc));
}

TEST(RecordFrame, IsFoundAtTheBeginning) {
  const std::string bytes = from_hex(kFramedAbc) + "and more";
  const std::optional<Frame> frame = first_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload, "abc");
  EXPECT_TRUE(frame->sound());
  EXPECT_EQ(frame->bytes(), 19u);
}

TEST(RecordFrame, EveryFlippedBitIsSeen) {
  const std::string whole = from_hex(kFramedAbc);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    const std::optional<Frame> frame = first_frame(bytes);
    EXPECT_EQ(frame.has_value(), bit / 8 >= kFrameHeadBytes) << bit;
    if (frame)
      EXPECT_FALSE(frame->sound()) << bit;
    else
      EXPECT_STREQ(why_no_frame(bytes), "its length does not agree with its checksum");
  }
}

TEST(RecordFrame, CutShortIsNone) {
  const std::string whole = from_hex(kFramedAbc);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(first_frame(whole.substr(0, bytes))) << bytes;
    EXPECT_STREQ(why_no_frame(whole.substr(0, bytes)), "the file ends within the record");
  }
}

TEST(RecordFrame, ALengthBeyondAllBytesIsNone) {
  // 2^64 - 1 with the sum that belongs to it, made by the same program.
  EXPECT_FALSE(first_frame(from_hex("ffffffffffffffffa67b113a00000000")));
}

}  // namespace

}  // namespace trainyard::data
