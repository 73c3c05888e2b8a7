#include "comm/transport/frame_queue.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace trainyard::comm::transport {
namespace {

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
