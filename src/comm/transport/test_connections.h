#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "comm/transport/listener.h"

namespace trainyard::comm::transport {

// Keeps all that comes.
class Inbox : public Receiver {
 public:
  explicit Inbox(std::unique_ptr<Connection> peer) : connection(std::move(peer)) { connection->start(*this); }
  std::span<std::byte> room_for(const Frame& frame) override {
    if (frame.kind == 99) fail(ErrorKind::peer, "kind 99 is not known");
    if (frame.kind == 98) fail(ErrorKind::internal, "a mistake of this side");
    rooms.emplace_back(frame.payload_bytes);
    return rooms.back();
  }
  void arrived(const Frame& frame, std::span<std::byte>) override { frames.push_back(frame); }
  void closed(const std::string& why) override {
    is_closed = true;
    reason = why;
  }

  std::unique_ptr<Connection> connection;
  std::vector<std::vector<std::byte>> rooms;
  std::vector<Frame> frames;
  bool is_closed = false;
  std::string reason;
};

inline std::vector<std::byte> bytes_like(std::size_t count, int first) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(first));
  return bytes;
}

// A ConnectionPair is a listener and its caller, on one loop.
class ConnectionPair : public testing::Test {
 protected:
  // `over`: tcp, unix or shm.
  explicit ConnectionPair(std::string over) : over_(std::move(over)) {}

  Address address() const {
    if (over_ == "tcp") return Address::parse("tcp:127.0.0.1:0");
    return Address::parse(over_ + ":" + (folder_.path() / "socket").string());
  }

  void open_listener() {
    listener_ = listen(
        loop_, address(), &key_, limits_,
        [this](std::unique_ptr<Connection> peer) {
          inner_.push_back(std::make_unique<Inbox>(std::move(peer)));
        },
        [this](const std::string&, const std::string& reason) { refusals_.push_back(reason); });
  }

  std::unique_ptr<Call> open_call(const JobKey& key) {
    return call(
        loop_, listener_->address(), &key, {.role = 2, .id = 17}, limits_,
        [this](std::unique_ptr<Connection> peer) { outer_ = std::make_unique<Inbox>(std::move(peer)); },
        [this](const std::string& reason) { failure_ = reason; });
  }

  // A pair that talks.
  void connect() {
    open_listener();
    call_ = open_call(key_);
    ASSERT_TRUE(until([this] { return outer_ != nullptr && inner_.size() == 1; }));
  }

  // Returns a plain socket to the listener, for those who do not play by the rules.
  int plain_socket() const {
    const Address to = listener_->address();
    sockaddr_storage storage{};
    socklen_t length = 0;
    if (to.kind == Address::Kind::tcp) {
      auto& in = reinterpret_cast<sockaddr_in&>(storage);
      in.sin_family = AF_INET;
      in.sin_port = htons(to.port);
      in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      length = sizeof in;
    } else {
      auto& local = reinterpret_cast<sockaddr_un&>(storage);
      local.sun_family = AF_UNIX;
      to.host.copy(local.sun_path, sizeof local.sun_path - 1);
      length = sizeof local;
    }
    const int descriptor = ::socket(storage.ss_family, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(descriptor, reinterpret_cast<const sockaddr*>(&storage), length), 0);
    return descriptor;
  }

  // Returns the same, with a handshake that `key` opens or does not.
  int greeted_socket(const JobKey& key) {
    const int descriptor = plain_socket();
    const CallerHandshake caller(key_, {.role = 2, .id = 1});
    EXPECT_EQ(::write(descriptor, caller.hello().data(), kHelloBytes), static_cast<ssize_t>(kHelloBytes));
    ChallengeBytes challenge{};
    EXPECT_TRUE(until([&] {
      return ::recv(descriptor, challenge.data(), kChallengeBytes, MSG_DONTWAIT) ==
             static_cast<ssize_t>(kChallengeBytes);
    }));
    const auto nonce = std::span<const std::byte>(challenge).first(32);
    const AnswerBytes answer =
        key.sign({std::as_bytes(std::span(std::string_view("trainyard caller"))), caller.hello(), nonce});
    EXPECT_EQ(::write(descriptor, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    return descriptor;
  }

  bool until(const std::function<bool()>& reached, double seconds = 10) {
    bool late = false;
    const auto deadline = loop_.after(seconds, [&] {
      late = true;
      loop_.stop();
    });
    std::unique_ptr<Loop::Timer> next;
    std::function<void()> look = [&] {
      if (reached())
        loop_.stop();
      else
        next = loop_.after(0.0005, look);
    };
    look();
    loop_.run();
    return !late;
  }

  std::string over_;
  const TestFolder folder_;
  Loop loop_;
  JobKey key_ = JobKey::random();
  ConnectionLimits limits_{.most_payload_bytes = 1 << 20, .handshake_seconds = 0.3, .most_strangers = 4};
  std::vector<std::unique_ptr<Inbox>> inner_;
  std::unique_ptr<Inbox> outer_;
  std::vector<std::string> refusals_;
  std::string failure_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Call> call_;
};

}  // namespace trainyard::comm::transport
