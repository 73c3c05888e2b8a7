// Thousands of connections that do not belong to the job: each is refused and reported once, nothing of them
// stays in memory, and who has the key is served all the time. connection_test.cpp has each of them alone.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/transport/listener.h"
#include "net/process.h"
#include "net/relay.h"

namespace trainyard::net_test {
namespace {

namespace transport = comm::transport;
using transport::Frame;
using transport::JobKey;
using Bytes = std::vector<std::byte>;

constexpr transport::ConnectionLimits kLimits{
    .most_payload_bytes = 1 << 20, .handshake_seconds = 1, .most_strangers = 64};

bool until(const std::function<bool()>& reached, double seconds = 60) {
  const double deadline = now_seconds() + seconds;
  while (!reached()) {
    if (now_seconds() > deadline) return false;
    sleep_for(0.001);
  }
  return true;
}

double resident_bytes() {
#ifdef __SANITIZE_ADDRESS__
  return 0;  // it keeps what was freed, and finds leaks itself
#endif
  double all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Counts how often each line came: a log of any length takes little memory.
class Tally {
 public:
  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    ++counts_[line];
  }
  int of(const std::string& line) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(line);
    return found != counts_.end() ? found->second : 0;
  }
  int all() const {
    const std::lock_guard lock(mutex_);
    int sum = 0;
    for (const auto& [line, count] : counts_) sum += count;
    return sum;
  }
  std::size_t different() const {
    const std::lock_guard lock(mutex_);
    return counts_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> counts_;
};

// Sends every frame back.
class Host {
 public:
  Host()
      : listener_(transport::listen(
            loop_, Address(), &key_, kLimits,
            [this](std::unique_ptr<transport::Connection> peer) {
              guests_.push_back(std::make_unique<Guest>(*this, std::move(peer)));
            },
            [this](const std::string&, const std::string& reason) { refusals.add(reason); })),
        address_(listener_->address()),
        thread_([this] { loop_.run(); }) {}
  ~Host() {
    loop_.post([this] {
      listener_.reset();
      guests_.clear();
      loop_.stop();
    });
    thread_.join();
  }

  const JobKey& key() const { return key_; }
  Address address() const { return address_; }
  Tally refusals, endings;

 private:
  class Guest final : public transport::Receiver {
   public:
    Guest(Host& host, std::unique_ptr<transport::Connection> peer) : host_(host), peer_(std::move(peer)) {
      peer_->start(*this);
    }
    std::span<std::byte> room_for(const Frame& frame) override {
      room_.resize(frame.payload_bytes);
      return room_;
    }
    void arrived(const Frame& frame, std::span<std::byte>) override {
      peer_->send({.kind = frame.kind, .clock = frame.clock});
    }
    void closed(const std::string& reason) override {
      host_.endings.add(reason);
      host_.loop_.post(
          [this] { std::erase_if(host_.guests_, [&](const auto& one) { return one.get() == this; }); });
    }

   private:
    Host& host_;
    std::unique_ptr<transport::Connection> peer_;
    Bytes room_;
  };

  const JobKey key_ = JobKey::random();
  transport::Loop loop_;
  std::vector<std::unique_ptr<Guest>> guests_;
  std::unique_ptr<transport::Listener> listener_;
  Address address_;
  std::thread thread_;
};

// A client with the key that sends a message every few milliseconds, and measures how long answers take.
class Friend final : public transport::Receiver {
 public:
  Friend(const Address& address, const JobKey& key)
      : call_(transport::call(
            loop_, address, &key, {.role = 1, .id = 7}, kLimits,
            [this](std::unique_ptr<transport::Connection> peer) {
              peer_ = std::move(peer);
              peer_->start(*this);
              ask();
            },
            [this](const std::string&) { lost = true; })),
        thread_([this] { loop_.run(); }) {}
  ~Friend() override {
    loop_.post([this] { loop_.stop(); });
    thread_.join();
  }

  std::span<std::byte> room_for(const Frame&) override { return {}; }
  void arrived(const Frame&, std::span<std::byte>) override {
    longest_wait = std::max<double>(longest_wait, now_seconds() - asked_);
    ++answers;
    next_ = loop_.after(0.002, [this] { ask(); });
  }
  void closed(const std::string&) override { lost = true; }

  std::atomic<int> answers = 0;
  std::atomic<double> longest_wait = 0;
  std::atomic<bool> lost = false;

 private:
  void ask() {
    asked_ = now_seconds();
    peer_->send({.kind = 3});
  }

  transport::Loop loop_;
  std::unique_ptr<transport::Connection> peer_;
  std::unique_ptr<transport::Loop::Timer> next_;
  double asked_ = 0;
  std::unique_ptr<transport::Call> call_;
  std::thread thread_;
};

class Strangers : public testing::Test {
 protected:
  void SetUp() override {
    allow_many_descriptors();
    ASSERT_TRUE(until([this] { return friend_.answers > 0; }));
  }
  void TearDown() override {
    const int answers = friend_.answers;
    EXPECT_TRUE(until([&] { return friend_.answers > answers; }));
    EXPECT_FALSE(friend_.lost);
    EXPECT_LT(friend_.longest_wait, 1) << "strangers kept the host from its work";
    EXPECT_TRUE(friend_gets_in()) << "strangers shut the door";
    EXPECT_LE(host_.refusals.different(), 3u);
  }

  // A friend that is refused because the listener is full tries again.
  bool friend_gets_in() const {
    return until([this] {
      const Friend another(host_.address(), host_.key());
      return until([&] { return another.answers > 0 || another.lost; }) && another.answers > 0;
    });
  }

  Socket stranger() const { return connect_to(host_.address()); }

  // `one` is an attempt; it ends when the host has hung up. Some come first, so that all is allocated that
  // stays.
  void campaign(int attempts, const std::function<void(int)>& one) {
    for (int i = 0; i < attempts / 10; ++i) one(i);
    const double before = resident_bytes();
    for (int i = 0; i < attempts; ++i) one(i);
    EXPECT_LT(resident_bytes() - before, 2e6) << "something of them stays";
    expected_ += attempts + attempts / 10;
    EXPECT_TRUE(until([&] { return host_.refusals.all() + strangers_inside() >= expected_; }));
    EXPECT_EQ(host_.refusals.all() + strangers_inside(), expected_) << "one line for each stranger";
  }
  int strangers_inside() const { return host_.endings.all(); }

  Host host_;
  Friend friend_{host_.address(), host_.key()};
  int expected_ = 0;
};

// Says hello, hears the challenge.
transport::ChallengeBytes challenge_for(const Socket& socket, std::span<const std::byte> hello) {
  transport::ChallengeBytes challenge{};
  EXPECT_TRUE(socket.write(hello));
  EXPECT_EQ(socket.read(challenge), challenge.size());
  return challenge;
}

void expect_hung_up(const Socket& socket) {
  EXPECT_TRUE(socket.wait_for_end(5)) << "it is still listened to";
}

TEST_F(Strangers, WithAnotherKeyAreRefused) {
  const JobKey other = JobKey::random();
  const std::string word = "trainyard caller";
  campaign(1000, [&](int) {
    const Socket socket = stranger();
    const transport::CallerHandshake handshake(other, {.role = 1, .id = 7});
    const auto challenge = challenge_for(socket, handshake.hello());
    EXPECT_TRUE(socket.write(
        other.sign({std::as_bytes(std::span(word)), handshake.hello(), std::span(challenge).first<32>()})));
    expect_hung_up(socket);
  });
  EXPECT_EQ(host_.refusals.of("who calls has not the key of this job"), expected_);
}

TEST_F(Strangers, WhoRepeatWhatTheyHeardAreRefused) {
  Relay relay({.target = host_.address(), .recorded_bytes = 1000});
  {
    const Friend overheard(relay.address(), host_.key());
    ASSERT_TRUE(until([&] { return overheard.answers > 3; }));
  }
  ASSERT_TRUE(until([&] { return host_.endings.all() == 1; }));
  expected_ = 1;
  const Bytes said = relay.recorded(0, Way::to_target), heard = relay.recorded(0, Way::to_caller);
  ASSERT_GT(said.size(), transport::kHelloBytes + transport::kAnswerBytes + transport::kFrameBytes);
  const auto hello = std::span(said).first(transport::kHelloBytes),
             answer = std::span(said).subspan(transport::kHelloBytes, transport::kAnswerBytes);
  const auto old_proof = std::span(heard).subspan(32, 32);
  campaign(900, [&](int i) {
    const Socket socket = stranger();
    if (i % 3 == 0) {  // all of it, without waiting
      EXPECT_TRUE(socket.write(said));
    } else {
      const auto challenge = challenge_for(socket, hello);
      EXPECT_FALSE(std::equal(old_proof.begin(), old_proof.end(), challenge.begin() + 32));
      EXPECT_TRUE(socket.write(i % 3 == 1 ? answer : std::span<const std::byte>(challenge).subspan(32)));
    }
    expect_hung_up(socket);
  });
  EXPECT_EQ(host_.refusals.of("who calls has not the key of this job"), expected_ - 1);
}

TEST_F(Strangers, WhoSendGarbageOfAnyLengthAreRefused) {
  campaign(201 * 10, [&](int i) {
    const Socket socket = stranger();
    socket.write(noise(static_cast<std::uint64_t>(i), static_cast<std::size_t>(i % 201)));
    ::shutdown(socket.number(), SHUT_WR);
    expect_hung_up(socket);
  });
  EXPECT_EQ(host_.refusals.of("it went away during the handshake"), 11 * 48);
  EXPECT_EQ(host_.refusals.of("what came is no hello"), expected_ - 11 * 48);
}

TEST_F(Strangers, OfAnotherVersionAreTold) {
  campaign(1000, [&](int) {
    const Socket socket = stranger();
    transport::HelloBytes hello = transport::CallerHandshake(host_.key(), {.role = 1, .id = 7}).hello();
    hello[4] = std::byte{0};
    EXPECT_TRUE(socket.write(hello));
    expect_hung_up(socket);
  });
  EXPECT_EQ(host_.refusals.of("a hello of version 0 came, this side speaks version 1"), expected_);
}

TEST_F(Strangers, WhoHaveTheKeyAndClaimMuchGetNoRoom) {
  campaign(500, [&](int) {
    const Socket socket = stranger();
    const transport::CallerHandshake handshake(host_.key(), {.role = 1, .id = 8});
    const auto challenge = challenge_for(socket, handshake.hello());
    EXPECT_TRUE(socket.write(handshake.answer(challenge)));
    EXPECT_TRUE(socket.write(transport::encode({.kind = 3, .payload_bytes = 0xFFFFFFFF})));
    expect_hung_up(socket);
  });
  EXPECT_EQ(host_.endings.of("a frame of 4294967295 bytes came, at most 1048576 are taken"), expected_);
}

TEST_F(Strangers, WhoTrickleAreShownOutInTime) {
  constexpr int kCount = 50;
  const Bytes hello(100);
  std::vector<Socket> crowd;
  for (int i = 0; i < kCount; ++i) crowd.push_back(stranger());
  EXPECT_TRUE(friend_gets_in());
  // A byte a quarter of a second, where a second is all they have: none of them gets to its fortieth.
  for (std::size_t byte = 0; host_.refusals.all() < kCount && byte < 40; ++byte) {
    for (const Socket& socket : crowd) socket.write(std::span(hello).subspan(byte, 1), 0.01);
    sleep_for(0.25);
  }
  EXPECT_EQ(host_.refusals.of("it said nothing in time"), kCount);
  for (const Socket& socket : crowd) expect_hung_up(socket);
  EXPECT_EQ(host_.refusals.all(), kCount);
}

// The server lets in those who came last, not those who came first and say nothing.
TEST_F(Strangers, WhoOnlyStandThereKeepNoFriendOut) {
  std::vector<Socket> crowd;
  for (int i = 0; i < kLimits.most_strangers; ++i) crowd.push_back(stranger());
  for (int i = 1; i <= 10; ++i) {
    const Friend another(host_.address(), host_.key());
    ASSERT_TRUE(until([&] { return another.answers > 0 || another.lost; }, 0.5 * kLimits.handshake_seconds));
    ASSERT_FALSE(another.lost);
    crowd.push_back(stranger());
  }
  EXPECT_GE(host_.refusals.of("64 others are at the door"), 10);
}

TEST_F(Strangers, InACrowdStandOutside) {
  constexpr int kCount = 1000;
  const double before = resident_bytes();
  for (int round = 1; round <= 2; ++round) {
    std::vector<Socket> crowd;
    for (int i = 0; i < kCount; ++i) crowd.push_back(stranger());
    EXPECT_TRUE(until([&] { return host_.refusals.all() == round * kCount; }, 5));
    EXPECT_EQ(host_.refusals.of("64 others are at the door"), round * (kCount - 64));
    for (const Socket& socket : crowd) expect_hung_up(socket);
  }
  EXPECT_EQ(host_.refusals.all(), 2 * kCount);
  EXPECT_LT(resident_bytes() - before, 2e6);
}

}  // namespace
}  // namespace trainyard::net_test
