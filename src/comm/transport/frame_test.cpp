#include "comm/transport/frame.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/philox.h"

namespace trainyard::comm::transport {

namespace {

constexpr std::uint32_t kMost = 1 << 20;

Frame example() {
  return {.kind = 7,
          .flags = 0x8001,
          .payload_bytes = 1000,
          .epoch = 3,
          .sender = 12,
          .key = 0x01020304,
          .clock = 0x1122334455667788,
          .payload_crc = 0xDEADBEEF};
}

std::string refusal(const FrameBytes& bytes, std::uint32_t most = kMost) {
  try {
    decode(bytes, most);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::peer);
    return error.what();
  }
  return "";
}

TEST(Frame, ComesBackAsItWas) { EXPECT_EQ(decode(encode(example()), kMost), example()); }

// The layout is a promise to other versions and machines: docs/formats/ps-wire.md.
TEST(Frame, LiesAsTheFormatSays) {
  const FrameBytes bytes = encode(example());
  const auto at = [&](std::size_t i) { return static_cast<int>(bytes[i]); };
  EXPECT_EQ(std::string({static_cast<char>(at(0)), static_cast<char>(at(1)), static_cast<char>(at(2)),
                         static_cast<char>(at(3))}),
            "TYPS");
  EXPECT_EQ(at(4), 1);
  EXPECT_EQ(at(5), 7);
  EXPECT_EQ(at(6), 0x01);
  EXPECT_EQ(at(7), 0x80);
  EXPECT_EQ(at(8) | at(9) << 8, 1000);
  EXPECT_EQ(at(20), 0x04);
  EXPECT_EQ(at(23), 0x01);
  EXPECT_EQ(at(24), 0x88);
  EXPECT_EQ(at(31), 0x11);
}

// The seed took eight bytes for a length that is written with five to ten.
TEST(Frame, EveryLengthComesBack) {
  Frame frame = example();
  for (std::uint64_t bytes = 0; bytes <= std::numeric_limits<std::uint32_t>::max(); bytes += bytes / 7 + 1) {
    frame.payload_bytes = static_cast<std::uint32_t>(bytes);
    EXPECT_EQ(decode(encode(frame), std::numeric_limits<std::uint32_t>::max()).payload_bytes, bytes);
  }
}

TEST(Frame, NoChangedBitGoesUnseen) {
  const FrameBytes good = encode(example());
  for (std::size_t bit = 0; bit < kFrameBytes * 8; ++bit) {
    FrameBytes bytes = good;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_NE(refusal(bytes), "") << "bit " << bit;
  }
}

TEST(Frame, GarbageIsRefused) {
  const Philox random(9, 2);
  FrameBytes bytes{};
  for (std::uint64_t round = 0; round < 2000; ++round) {
    for (std::size_t i = 0; i < kFrameBytes; ++i)
      bytes[i] = static_cast<std::byte>(random.word(round * kFrameBytes + i));
    EXPECT_NE(refusal(bytes), "");
  }
}

TEST(Frame, SaysWhatIsWrong) {
  FrameBytes bytes = encode(example());
  EXPECT_EQ(refusal(bytes, 999), "a frame of 1000 bytes came, at most 999 are taken");
  bytes[4] = std::byte{2};
  EXPECT_EQ(refusal(bytes), "a frame of version 2 came, this side speaks version 1");
  bytes[0] = std::byte{0};
  EXPECT_EQ(refusal(bytes), "what came is no frame: it begins with 0x53505900");
}

TEST(Frame, PayloadsAreChecked) {
  std::vector<std::byte> payload(1000, std::byte{5});
  Frame frame = example();
  frame.payload_crc = crc32c(payload);
  EXPECT_NO_THROW(check_payload(frame, payload));
  payload[700] ^= std::byte{1};
  EXPECT_THROW(check_payload(frame, payload), Error);
}

constexpr std::uint32_t kMostBytes = 1000;

class FrameQueues : public testing::Test {
 protected:
  void add(std::uint32_t key, std::size_t bytes) {
    payloads_.emplace_back(bytes, std::byte(key));
    queue_.add({.key = key}, payloads_.back(), [this, key] { reported_.push_back(key); });
  }

  std::vector<std::byte> pieces(std::size_t most_frames) const {
    std::vector<std::byte> all;
    queue_.for_each_piece(most_frames, [&](std::span<const std::byte> piece) {
      EXPECT_FALSE(piece.empty());
      all.insert(all.end(), piece.begin(), piece.end());
    });
    return all;
  }

  std::size_t advance(std::size_t bytes) {
    const FrameQueue::Sent sent = queue_.advance(bytes);
    for (const auto& report : sent.reports) report();
    return sent.frames;
  }

  FrameQueue queue_;
  std::deque<std::vector<std::byte>> payloads_;
  std::vector<std::uint32_t> reported_;
};

TEST_F(FrameQueues, GiveAllBytesInTheirOrder) {
  add(1, 10);
  add(2, 0);
  add(3, 5);
  const std::vector<std::byte> all = pieces(9);
  ASSERT_EQ(all.size(), 3 * kFrameBytes + 15);
  std::size_t at = 0;
  for (const std::uint32_t key : {1u, 2u, 3u}) {
    const Frame frame =
        decode(std::span(all).subspan(at).first<kFrameBytes>(), kMostBytes);  // throws if it is none
    EXPECT_EQ(frame.key, key);
    EXPECT_EQ(frame.payload_bytes, payloads_[key - 1].size());
    at += kFrameBytes + frame.payload_bytes;
  }
  EXPECT_EQ(pieces(2).size(), 2 * kFrameBytes + 10);
}

// However they are cut into pieces: the same bytes, and each frame is reported when its last byte is sent.
TEST_F(FrameQueues, GoOnWhereTheyWere) {
  for (const std::size_t step : {1u, 7u, 40u, 41u, 1000u}) {
    SCOPED_TRACE(step);
    reported_.clear();
    payloads_.clear();
    for (const std::uint32_t key : {1u, 2u, 3u}) add(key, 30 * (key - 1));
    const std::vector<std::byte> all = pieces(9);
    std::vector<std::byte> sent;
    while (!queue_.empty()) {
      EXPECT_EQ(pieces(9),
                std::vector<std::byte>(all.begin() + static_cast<std::ptrdiff_t>(sent.size()), all.end()));
      const auto piece = queue_.front().first(std::min(step, queue_.front().size()));
      ASSERT_FALSE(piece.empty());
      sent.insert(sent.end(), piece.begin(), piece.end());
      const std::size_t before = reported_.size(), frames = advance(piece.size());
      EXPECT_EQ(reported_.size(), before + frames);
    }
    EXPECT_EQ(sent, all);
    EXPECT_EQ(reported_, (std::vector<std::uint32_t>{1, 2, 3}));
  }
}

TEST_F(FrameQueues, TakeFramesWhileOthersAreOnTheirWay) {
  add(1, 4);
  add(2, 4);
  std::vector<std::span<const std::byte>> on_their_way;
  queue_.for_each_piece(9, [&](std::span<const std::byte> piece) { on_their_way.push_back(piece); });
  const std::vector<std::byte> before = pieces(9);
  for (std::uint32_t key = 3; key < 200; ++key) add(key, 4);
  std::vector<std::byte> after;
  for (const auto piece : on_their_way) after.insert(after.end(), piece.begin(), piece.end());
  EXPECT_EQ(after, before);
  EXPECT_EQ(advance(before.size()), 2u);
  EXPECT_EQ(reported_, (std::vector<std::uint32_t>{1, 2}));
}

}  // namespace

}  // namespace trainyard::comm::transport
