#include "comm/transport/connection.h"

#include <unistd.h>

#include "comm/transport/listener.h"
#include "comm/transport/shared_memory.h"
#include "comm/transport/test_connections.h"

namespace trainyard::comm::transport {
namespace {

class Connections : public ConnectionPair, public testing::WithParamInterface<const char*> {
 protected:
  Connections() : ConnectionPair(GetParam()) {}
};

TEST_P(Connections, FramesComeWholeAndInOrder) {
  connect();
  EXPECT_EQ(inner_[0]->connection->peer(), (Hello{.role = 2, .id = 17}));
  std::vector<std::vector<std::byte>> sent;
  std::uint32_t done = 0;
  for (const std::size_t count : {0u, 1u, 1000u, 70'000u, 1u << 20, 3u}) {
    sent.push_back(bytes_like(count, static_cast<int>(sent.size())));
  }
  for (std::size_t i = 0; i < sent.size(); ++i)
    outer_->connection->send({.kind = 1, .key = static_cast<std::uint32_t>(i), .clock = 5}, sent[i],
                             [&] { ++done; });
  ASSERT_TRUE(until([&] { return inner_[0]->frames.size() == sent.size() && done == sent.size(); }));
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(inner_[0]->frames[i].key, i);
    EXPECT_EQ(inner_[0]->rooms[i], sent[i]);
  }
  EXPECT_EQ(inner_[0]->connection->traffic().bytes_received, outer_->connection->traffic().bytes_sent);
  EXPECT_EQ(inner_[0]->connection->traffic().frames_received, sent.size());
}

TEST_P(Connections, BothDirectionsAtOnce) {
  connect();
  const std::vector<std::byte> load = bytes_like(1 << 20, 3);
  for (int i = 0; i < 20; ++i) {
    outer_->connection->send({.kind = 1}, load);
    inner_[0]->connection->send({.kind = 2}, load);
  }
  ASSERT_TRUE(until([&] { return inner_[0]->frames.size() == 20 && outer_->frames.size() == 20; }));
}

// The first of them began a write, and the second was taken for one that nobody writes yet.
TEST_P(Connections, FramesSentWhenAnotherOneIsSentComeOnce) {
  connect();
  const std::vector<std::byte> load = bytes_like(1 << 20, 3);
  outer_->connection->send({.kind = 1, .key = 0}, {}, [&] {
    for (std::uint32_t key = 1; key < 4; ++key) outer_->connection->send({.kind = 1, .key = key}, load);
    outer_->connection->close("done", true);
  });
  ASSERT_TRUE(until([&] { return inner_[0]->is_closed && outer_->is_closed; }));
  ASSERT_EQ(inner_[0]->frames.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(inner_[0]->frames[i].key, i);
  EXPECT_EQ(inner_[0]->reason, "the peer is gone");
}

TEST_P(Connections, APeerThatGoesIsNoticedAtOnce) {
  connect();
  outer_.reset();
  ASSERT_TRUE(until([&] { return inner_[0]->is_closed; }, 1));
  EXPECT_EQ(inner_[0]->reason, "the peer is gone");
}

TEST_P(Connections, ADrainedCloseSendsWhatWaits) {
  connect();
  const std::vector<std::byte> load = bytes_like(1 << 20, 3);
  for (int i = 0; i < 10; ++i) outer_->connection->send({.kind = 1}, load);
  outer_->connection->close("done", true);
  ASSERT_TRUE(until([&] { return inner_[0]->is_closed && outer_->is_closed; }));
  EXPECT_EQ(inner_[0]->frames.size(), 10u);
  EXPECT_EQ(outer_->reason, "done");
}

TEST_P(Connections, WhatAReceiverRefusesClosesIt) {
  connect();
  outer_->connection->send({.kind = 99}, bytes_like(10, 1));
  ASSERT_TRUE(until([&] { return inner_[0]->is_closed && outer_->is_closed; }));
  EXPECT_EQ(inner_[0]->reason, "kind 99 is not known");
  EXPECT_TRUE(inner_[0]->frames.empty());
}

// A process whose own state is wrong must not go on, and must not blame a peer.
TEST_P(Connections, MistakesOfThisSideComeOutOfTheLoop) {
  connect();
  outer_->connection->send({.kind = 98});
  EXPECT_THROW(until([&] { return inner_[0]->is_closed; }, 1), Error);
}

// Frames that come in one piece, as heartbeats do, were no signs of life.
TEST_P(Connections, EveryFrameIsASignOfLife) {
  connect();
  ASSERT_TRUE(until([&] { return inner_[0]->connection->seconds_since_heard() > 0.1; }));
  outer_->connection->send({.kind = 1});
  ASSERT_TRUE(until([&] { return !inner_[0]->frames.empty(); }));
  EXPECT_LT(inner_[0]->connection->seconds_since_heard(), 0.1);
}

// Closing a connection to a peer that still sends makes the system discard the data that the peer has not
// read yet.
TEST_P(Connections, WhatIsSaidLastIsHeardByWhoStillSpeaks) {
  connect();
  const std::vector<std::byte> load = bytes_like(1 << 20, 3);
  for (int i = 0; i < 20; ++i) outer_->connection->send({.kind = 1}, load);
  ASSERT_TRUE(until([&] { return !inner_[0]->frames.empty(); }));
  inner_[0]->connection->send({.kind = 5});
  inner_[0]->connection->close("please go", true);
  ASSERT_TRUE(until([&] { return outer_->is_closed; }));
  ASSERT_EQ(outer_->frames.size(), 1u);
  EXPECT_EQ(outer_->frames[0].kind, 5);
  ASSERT_TRUE(until([&] { return inner_[0]->is_closed; }, 0.5));
  EXPECT_EQ(inner_[0]->reason, "please go");
}

// A peer that takes nothing any more.
TEST_P(Connections, ACloseAtOnceEndsOneThatWaits) {
  open_listener();
  const int descriptor = greeted_socket(key_);
  std::optional<SharedMemory> memory;
  if (over_ == "shm") memory.emplace(SharedMemory::offer(descriptor));
  ASSERT_TRUE(until([&] { return inner_.size() == 1; }));
  const std::vector<std::byte> load = bytes_like(1 << 20, 3);
  for (int i = 0; i < 20; ++i) inner_[0]->connection->send({.kind = 1}, load);
  inner_[0]->connection->close("please go", true);
  EXPECT_FALSE(until([&] { return inner_[0]->is_closed; }, 0.2));
  inner_[0]->connection->close("go", false);
  EXPECT_TRUE(until([&] { return inner_[0]->is_closed; }, 1));
  EXPECT_EQ(inner_[0]->reason, "go");
  ::close(descriptor);
}

TEST_P(Connections, AnotherKeyIsRefused) {
  open_listener();
  call_ = open_call(JobKey::random());
  ASSERT_TRUE(until([&] { return !failure_.empty() && !refusals_.empty(); }));
  EXPECT_NE(failure_.find("has not the key of this job"), std::string::npos) << failure_;
  EXPECT_TRUE(inner_.empty());
}

TEST_P(Connections, NobodyThereIsAFailure) {
  open_listener();
  const Address gone = listener_->address();
  listener_.reset();
  call_ = call(
      loop_, gone, &key_, {}, limits_, [](std::unique_ptr<Connection>) { FAIL(); },
      [this](const std::string& reason) { failure_ = reason; });
  ASSERT_TRUE(until([&] { return !failure_.empty(); }));
}

TEST_P(Connections, GarbageAndSlownessAreRefused) {
  open_listener();
  const int garbage = plain_socket(), silent = plain_socket(), slow = plain_socket();
  const std::vector<std::byte> noise = bytes_like(500, 9);
  ASSERT_EQ(::write(garbage, noise.data(), noise.size()), static_cast<ssize_t>(noise.size()));
  ASSERT_EQ(::write(slow, "TYHI", 4), 4);
  ASSERT_TRUE(until([&] { return refusals_.size() == 3; }, 2));
  EXPECT_EQ(refusals_[0], "what came is no hello");
  EXPECT_EQ(refusals_[1], "it said nothing in time");
  for (const int descriptor : {garbage, silent, slow}) ::close(descriptor);
  EXPECT_TRUE(inner_.empty());
}

TEST_P(Connections, OnlySoManyMayStandAtTheDoor) {
  open_listener();
  std::vector<int> crowd;
  for (int i = 0; i < 10; ++i) crowd.push_back(plain_socket());
  ASSERT_TRUE(until([&] { return refusals_.size() == 6; }, 2));
  EXPECT_EQ(refusals_[0], "4 others are at the door");
  // A friend comes in at once, in the place of the one who stood there longest.
  call_ = open_call(key_);
  EXPECT_TRUE(until([&] { return inner_.size() == 1; }, 0.2));
  EXPECT_EQ(refusals_.size(), 7u);
  ASSERT_TRUE(until([&] { return refusals_.size() == 10; }, 2));
  for (const int descriptor : crowd) ::close(descriptor);
}

TEST_P(Connections, WhatFollowsAGoodHandshakeMayStillBeGarbage) {
  open_listener();
  const int descriptor = greeted_socket(key_);
  std::optional<SharedMemory> memory;
  if (over_ == "shm") memory.emplace(SharedMemory::offer(descriptor));
  ASSERT_TRUE(until([&] { return inner_.size() == 1; }));
  Frame oversized{.kind = 1, .payload_bytes = (1 << 20) + 1};
  const FrameBytes bytes = encode(oversized);
  if (memory) {
    RingWriter writer(memory->ring(SharedMemory::Direction::to_listener));
    writer.put(bytes);
    writer.publish();
  }
  ASSERT_EQ(::write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ASSERT_TRUE(until([&] { return inner_[0]->is_closed; }));
  EXPECT_EQ(inner_[0]->reason, "a frame of 1048577 bytes came, at most 1048576 are taken");
  EXPECT_TRUE(inner_[0]->rooms.empty()) << "nothing is kept for what is refused";
  ::close(descriptor);
}

INSTANTIATE_TEST_SUITE_P(Over, Connections, testing::Values("tcp", "unix", "shm"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Listening, WantsAKeyWhereOthersCanReachIt) {
  Loop loop;
  try {
    listen(loop, Address::parse("tcp:0.0.0.0:0"), nullptr, {}, {}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_NE(std::string(error.what()).find("without a key"), std::string::npos);
  }
  EXPECT_NO_THROW(listen(loop, Address::parse("tcp:127.0.0.1:0"), nullptr, {}, {}, {}));
}

TEST(Addresses, AreReadAndWritten) {
  for (const char* text :
       {"tcp:127.0.0.1:80", "tcp:node7.cluster:65535", "unix:/tmp/a.sock", "shm:/tmp/a.sock", "tcp:::1:9"})
    EXPECT_EQ(Address::parse(text).to_string(), text);
  for (const char* text :
       {"", "127.0.0.1:80", "tcp:80", "tcp::80", "tcp:h:", "tcp:h:65536", "tcp:h:x", "unix:", "shm:"})
    EXPECT_THROW(Address::parse(text), Error) << text;
  EXPECT_TRUE(Address::parse("unix:/x").is_local());
  EXPECT_TRUE(Address::parse("shm:/x").is_local());
  EXPECT_TRUE(Address::parse("tcp:::1:5").is_local());
  EXPECT_FALSE(Address::parse("tcp:10.0.0.1:5").is_local());
}

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
}  // namespace trainyard::comm::transport
