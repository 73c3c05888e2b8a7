// A worker's side against servers that this test plays byte by byte.
#include "ps/client/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "comm/transport/handshake.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {
namespace {

namespace transport = comm::transport;

void a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

class PlayedServer {
 public:
  PlayedServer(int number, const std::vector<Key>& keys, const transport::JobKey& key)
      : number_(number), keys_(keys), handshake_(key), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in any{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t length = sizeof any;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&any), length), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &length), 0);
    address_ = fmt::format("tcp:127.0.0.1:{}", ntohs(any.sin_port));
  }
  ~PlayedServer() {
    leave();
    ::close(listener_);
  }

  transport::Address address() const { return transport::Address::parse(address_); }

  void welcome() {
    socket_ = ::accept(listener_, nullptr, nullptr);
    transport::HelloBytes hello;
    read(hello);
    send(handshake_.challenge(hello));
    transport::AnswerBytes answer;
    read(answer);
    handshake_.accept(answer);
    std::int64_t elements = 0;
    for (const Key& key : keys_) elements += key.elements;
    send_frame({.kind = wire(Kind::welcome), .epoch = 1},
               encode(Welcome{.elements = elements,
                              .keys = static_cast<std::int32_t>(keys_.size()),
                              .servers = 2,
                              .server = number_}));
  }
  void lend(std::uint64_t batch) { send_frame({.kind = wire(Kind::lease), .epoch = 1, .clock = batch}, {}); }
  // All weights; the last `held_back` bytes come with rest().
  void send_weights(std::size_t held_back = 0) {
    std::size_t end = 0;
    for (std::size_t k = 0; k < keys_.size(); ++k)
      if (keys_[k].server == number_) end = k + 1;
    for (std::size_t k = 0; k < end; ++k) {
      if (keys_[k].server != number_) continue;
      const bool last = k + 1 == end;
      send_frame({.kind = wire(Kind::weights),
                  .flags = last ? kLast : std::uint16_t{0},
                  .epoch = 1,
                  .key = static_cast<std::uint32_t>(k)},
                 std::vector<std::byte>(static_cast<std::size_t>(keys_[k].elements) * sizeof(float)),
                 last ? held_back : 0);
    }
  }
  void rest() { send(rest_); }
  void leave() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  void send_frame(transport::Frame frame, const Bytes& payload, std::size_t held_back = 0) {
    frame.payload_bytes = static_cast<std::uint32_t>(payload.size());
    frame.payload_crc = crc32c(payload);
    send(transport::encode(frame));
    send(std::span(payload).first(payload.size() - held_back));
    rest_.assign(payload.end() - static_cast<std::ptrdiff_t>(held_back), payload.end());
  }
  void send(std::span<const std::byte> bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void read(std::span<std::byte> bytes) {
    EXPECT_EQ(::recv(socket_, bytes.data(), bytes.size(), MSG_WAITALL), static_cast<ssize_t>(bytes.size()));
  }

  int number_;
  std::vector<Key> keys_;
  transport::ListenerHandshake handshake_;
  int listener_, socket_ = -1;
  std::string address_;
  Bytes rest_;
};

// Both come to the worker at once: that one server is gone, and the last of the other's weights. It must not
// take them for weights to work with.
TEST(Client, WeightsThatComeBehindALostServerAreOfNoUse) {
  constexpr std::int64_t kNumbers = 4000;
  const std::vector<Key> keys = make_keys(kNumbers, 2, 4 << 10);
  const transport::JobKey key = transport::JobKey::random();
  PlayedServer first(0, keys, key), second(1, keys, key);
  std::vector<float> parameters(kNumbers), gradients(kNumbers);
  std::promise<void> stands_still, may_go_on;
  std::atomic<bool> once = true;
  const auto client =
      std::make_unique<Client>(ClientOptions{.servers = {first.address(), second.address()},
                                             .lease_seconds = 30,
                                             .stall_seconds = 0.3,
                                             .give_up_seconds = 0.5},
                               keys, &key, parameters, gradients, [&](const std::string& line) {
                                 // This is the thread that communicates: the effect is that of a suspended
                                 // process.
                                 if (line.find("no weights") == std::string::npos || !once.exchange(false))
                                   return;
                                 stands_still.set_value();
                                 may_go_on.get_future().wait();
                               });
  first.welcome();
  second.welcome();
  first.lend(7);
  first.send_weights();
  second.send_weights(100);
  std::thread worker([&] { EXPECT_THROW(client->wait_for_weights(), Error); });
  stands_still.get_future().wait();
  first.leave();
  a_moment();
  second.rest();
  a_moment();
  may_go_on.set_value();
  a_moment();
  client->ready(0, kNumbers);  // as a worker would that had begun to compute
  worker.join();
  EXPECT_EQ(client->counts().gradients, 0);
}

}  // namespace
}  // namespace trainyard::ps
