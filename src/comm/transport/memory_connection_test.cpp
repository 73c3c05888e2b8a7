#include "comm/transport/stream_connection.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <thread>

#include "comm/transport/test_connections.h"

namespace trainyard::comm::transport {
namespace {

using Direction = SharedMemory::Direction;

class MemoryConnections : public ConnectionPair {
 protected:
  MemoryConnections() : ConnectionPair("shm") {}

  // Hands over `bytes` of memory with these seals, as no friend would.
  static void offer(int socket, std::size_t bytes, int seals) {
    const int file = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
    ASSERT_EQ(::fcntl(file, F_ADD_SEALS, seals), 0);
    char text[] = {'T', 'Y', 'S', 'M'};
    iovec part{text, sizeof text};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    std::copy_n(reinterpret_cast<const char*>(&file), sizeof file,
                reinterpret_cast<char*>(CMSG_DATA(header)));
    ASSERT_EQ(::sendmsg(socket, &message, 0), 4);
    ::close(file);
  }

  static void wake(int socket) { ASSERT_EQ(::write(socket, "", 1), 1); }

  static int open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<int>(std::distance(begin(all), end(all)));
  }
};

TEST_F(MemoryConnections, AFrameMayBeLargerThanTheRing) {
  limits_.most_payload_bytes = 8 << 20;
  connect();
  const std::vector<std::byte> load = bytes_like(3 * kRingBytes + 5, 1);
  bool sent = false;
  outer_->connection->send({.kind = 1}, load, [&] { sent = true; });
  EXPECT_FALSE(sent) << "not from within send()";
  ASSERT_TRUE(until([&] { return inner_[0]->frames.size() == 1 && sent; }));
  EXPECT_EQ(inner_[0]->rooms[0], load);
}

TEST_F(MemoryConnections, ManySmallFrames) {
  connect();
  const std::vector<std::byte> load = bytes_like(30, 1);
  constexpr std::uint32_t kCount = 50'000;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const auto payload = std::span(load).first(i % 30);
    outer_->connection->send({.kind = 1, .key = i}, payload);
    inner_[0]->connection->send({.kind = 1, .key = i}, payload);
  }
  ASSERT_TRUE(until([&] { return inner_[0]->frames.size() == kCount && outer_->frames.size() == kCount; }));
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(inner_[0]->frames[i].key, i);
    ASSERT_EQ(outer_->rooms[i].size(), i % 30);
  }
}

// Sends back what comes, until nothing more does.
class Echo final : public Inbox {
 public:
  using Inbox::Inbox;
  void arrived(const Frame& frame, std::span<std::byte> payload) override {
    connection->send(frame, payload);
  }
};

TEST_F(MemoryConnections, TwoThreadsWithBothDirectionsFull) {
  open_listener();
  std::thread other([this] {
    Loop loop;
    std::unique_ptr<Echo> echo;
    const auto attempt = call(
        loop, listener_->address(), &key_, {.role = 2, .id = 17}, limits_,
        [&](std::unique_ptr<Connection> peer) { echo = std::make_unique<Echo>(std::move(peer)); },
        [](const std::string& reason) { FAIL() << reason; });
    loop.run();
  });
  ASSERT_TRUE(until([this] { return inner_.size() == 1; }));
  std::vector<std::vector<std::byte>> loads;
  for (int i = 0; i < 40; ++i) loads.push_back(bytes_like(static_cast<std::size_t>(i) * 25'001, i));
  for (const auto& load : loads) inner_[0]->connection->send({.kind = 1}, load);
  EXPECT_TRUE(until([&] { return inner_[0]->frames.size() == loads.size(); }));
  EXPECT_EQ(inner_[0]->rooms, loads);
  inner_.clear();
  other.join();
}

// Ends the peer when half of its payload, at most, can have come.
class Killer final : public Inbox {
 public:
  Killer(std::unique_ptr<Connection> peer, pid_t who) : Inbox(std::move(peer)), who_(who) {}
  std::span<std::byte> room_for(const Frame& frame) override {
    ::kill(who_, SIGKILL);
    ::waitpid(who_, nullptr, 0);
    return Inbox::room_for(frame);
  }

 private:
  pid_t who_;
};

TEST_F(MemoryConnections, APeerKilledInTheMiddleOfAPayloadIsGoneAndNothingOfItIsReported) {
  limits_.most_payload_bytes = 8 << 20;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char any = 0;
    if (::read(ready[0], &any, 1) != 1) ::_exit(1);
    Loop loop;
    const std::vector<std::byte> load(2 * kRingBytes);
    std::unique_ptr<Inbox> inbox;
    const auto attempt = call(
        loop, address(), &key_, {}, limits_,
        [&](std::unique_ptr<Connection> peer) {
          inbox = std::make_unique<Inbox>(std::move(peer));
          inbox->connection->send({.kind = 1}, load);
        },
        [](const std::string&) { ::_exit(1); });
    loop.run();
    ::_exit(0);
  }
  std::unique_ptr<Killer> killer;
  listener_ = listen(
      loop_, address(), &key_, limits_,
      [&](std::unique_ptr<Connection> peer) { killer = std::make_unique<Killer>(std::move(peer), child); },
      [](const std::string&, const std::string& reason) { FAIL() << reason; });
  ASSERT_EQ(::write(ready[1], "", 1), 1);
  ASSERT_TRUE(until([&] { return killer != nullptr && killer->is_closed; }));
  EXPECT_EQ(killer->reason, "the peer is gone");
  EXPECT_EQ(killer->rooms.size(), 1u);
  EXPECT_TRUE(killer->frames.empty());
  for (const int end : ready) ::close(end);
}

TEST_F(MemoryConnections, PlacesThatCannotBeCloseIt) {
  open_listener();
  for (const bool in_what_it_writes : {true, false}) {
    inner_.clear();
    const int descriptor = greeted_socket(key_);
    const SharedMemory memory = SharedMemory::offer(descriptor);
    ASSERT_TRUE(until([&] { return inner_.size() == 1; }));
    if (in_what_it_writes) {
      memory.ring(Direction::to_listener).control.written = kRingBytes + 1;
      wake(descriptor);
    } else {
      memory.ring(Direction::to_caller).control.read = std::numeric_limits<std::uint64_t>::max() / 2;
      for (const std::vector<std::byte> load = bytes_like(kRingBytes / 2, 1); const int i : {0, 1, 2})
        inner_[0]->connection->send({.kind = static_cast<std::uint8_t>(i)}, load);
    }
    ASSERT_TRUE(until([&] { return inner_[0]->is_closed; }));
    EXPECT_NE(inner_[0]->reason.find("the peer's position in shared memory is impossible"), std::string::npos)
        << inner_[0]->reason;
    ::close(descriptor);
  }
}

TEST_F(MemoryConnections, WakesForNothingAreHarmless) {
  open_listener();
  const int descriptor = greeted_socket(key_);
  const SharedMemory memory = SharedMemory::offer(descriptor);
  ASSERT_TRUE(until([&] { return inner_.size() == 1; }));
  const std::vector<std::byte> noise = bytes_like(10'000, 1);
  ASSERT_EQ(::write(descriptor, noise.data(), noise.size()), static_cast<ssize_t>(noise.size()));
  EXPECT_FALSE(until([&] { return inner_[0]->is_closed; }, 0.05));
  ::close(descriptor);
  EXPECT_TRUE(until([&] { return inner_[0]->is_closed; }));
}

TEST_F(MemoryConnections, MemoryThatIsNotAsAgreedIsRefused) {
  open_listener();
  constexpr std::size_t kRight = 4096 + 2 * kRingBytes;
  const int before = open_descriptors();
  std::vector<int> callers;
  const auto refusal_of = [&](const std::function<void(int)>& behave) {
    callers.push_back(greeted_socket(key_));
    behave(callers.back());
    const std::size_t had = refusals_.size();
    EXPECT_TRUE(until([&] { return refusals_.size() > had; }));
    return refusals_.back();
  };
  EXPECT_EQ(refusal_of([&](int socket) { offer(socket, kRight, 0); }), "it offered memory that could shrink");
  EXPECT_EQ(refusal_of([&](int socket) { offer(socket, 4096, F_SEAL_SHRINK); }),
            fmt::format("it offered 4096 bytes of shared memory, {} are expected", kRight));
  EXPECT_EQ(refusal_of([](int socket) { wake(socket); }), "it offered no shared memory");
  EXPECT_EQ(refusal_of([](int) {}), "it said nothing in time");
  EXPECT_TRUE(inner_.empty());
  for (const int descriptor : callers) ::close(descriptor);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(MemoryConnections, WithoutTheKeyNoMemoryIsTakenOrGiven) {
  open_listener();
  const int before = open_descriptors();
  const int caller = greeted_socket(JobKey::random());
  const SharedMemory memory = SharedMemory::offer(caller);
  ASSERT_TRUE(until([&] { return refusals_.size() == 1; }));
  EXPECT_EQ(refusals_[0], "who calls has not the key of this job");
  EXPECT_TRUE(inner_.empty());
  ::close(caller);

  // A listener without the key hears a hello, and nothing more.
  call_ = open_call(JobKey::random());
  ASSERT_TRUE(until([&] { return !failure_.empty() && refusals_.size() == 2; }));
  EXPECT_NE(failure_.find("has not the key of this job"), std::string::npos) << failure_;
  EXPECT_EQ(refusals_[1], "it went away during the handshake");
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace trainyard::comm::transport
