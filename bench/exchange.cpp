// Measures what a push of N bytes to another process and a pull of as many bytes cost, over each of three
// ways: bare TCP in a loop of sends and receives, frames of 128 KiB over the connections of comm/transport,
// and a worker and a parameter server of src/ps over the same connections (exchange_way.h lists what that
// includes).
//
//   cmake --build --preset release --target exchange && build/release/bench/exchange [--rounds N] [BYTES...]

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "comm/transport/listener.h"
#include "exchange_way.h"

namespace trainyard {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kFramePayload = 128 << 10;

// One side sends from `out` and receives into `in`: gradients and weights are separate arrays, too.
struct Arrays {
  explicit Arrays(std::size_t bytes) : out(bytes, std::byte{1}), in(bytes) {}
  std::vector<std::byte> out, in;
};

class BareTcp final : public Way {
 public:
  explicit BareTcp(std::size_t bytes) : arrays_(bytes), door_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(door_, address, length) != 0 || ::listen(door_, 1) != 0 ||
        ::getsockname(door_, address, &length) != 0)
      fail(ErrorKind::io, "cannot listen");
    child_ = std::make_unique<Child>([&] { answer(); });
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(socket_, address, length) != 0) fail(ErrorKind::io, "cannot connect");
    send_at_once(socket_);
  }
  ~BareTcp() override {
    ::close(socket_);
    ::close(door_);
  }

  void exchange() override {
    send_all(socket_);
    receive_all(socket_);
  }

 private:
  void answer() {
    const int socket = ::accept(door_, nullptr, nullptr);
    send_at_once(socket);
    for (;;) {
      receive_all(socket);
      send_all(socket);
    }
  }

  static void send_at_once(int socket) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  void send_all(int socket) {
    for (std::size_t done = 0; done < arrays_.out.size();)
      done += checked(::send(socket, arrays_.out.data() + done, arrays_.out.size() - done, MSG_NOSIGNAL));
  }
  void receive_all(int socket) {
    for (std::size_t done = 0; done < arrays_.in.size();)
      done += checked(::recv(socket, arrays_.in.data() + done, arrays_.in.size() - done, 0));
  }
  static std::size_t checked(ssize_t count) {
    if (count <= 0) fail(ErrorKind::io, "the other process is gone");
    return static_cast<std::size_t>(count);
  }

  Arrays arrays_;
  int door_, socket_ = -1;
  std::unique_ptr<Child> child_;
};

namespace transport = comm::transport;

// One end of a connection: sends its array, and takes into it.
class End final : public transport::Receiver {
 public:
  End(std::unique_ptr<transport::Connection> connection, Arrays& arrays, std::function<void()> on_all)
      : connection_(std::move(connection)), arrays_(arrays), on_all_(std::move(on_all)) {
    connection_->start(*this);
  }

  void send_all() {
    for (std::size_t at = 0; at < arrays_.out.size(); at += kFramePayload)
      connection_->send({.kind = 1}, std::span(arrays_.out).subspan(at).first(piece(at)));
  }

  std::span<std::byte> room_for(const transport::Frame& frame) override {
    return std::span(arrays_.in).subspan(came_, frame.payload_bytes);
  }
  void arrived(const transport::Frame& frame, std::span<std::byte>) override {
    came_ += frame.payload_bytes;
    if (came_ < arrays_.in.size()) return;
    came_ = 0;
    on_all_();
  }
  void closed(const std::string& reason) override { fail(ErrorKind::peer, "{}", reason); }

 private:
  std::size_t piece(std::size_t at) const { return std::min(kFramePayload, arrays_.out.size() - at); }

  std::unique_ptr<transport::Connection> connection_;
  Arrays& arrays_;
  std::function<void()> on_all_;
  std::size_t came_ = 0;
};

// The child calls, so that this side knows the port before there is a child.
class Frames final : public Way {
 public:
  Frames(const std::string& address, std::size_t bytes) : arrays_(bytes) {
    // Before the loop is made: a loop does not live through a fork.
    int ends[2];
    if (::pipe(ends) != 0) fail(ErrorKind::io, "cannot make a pipe");
    child_ = std::make_unique<Child>([&] { answer(ends[0]); });
    ::close(ends[0]);
    loop_ = std::make_unique<transport::Loop>();
    listener_ = transport::listen(
        *loop_, transport::Address::parse(address), nullptr, {},
        [this](std::unique_ptr<transport::Connection> peer) {
          end_ = std::make_unique<End>(std::move(peer), arrays_, [this] { loop_->stop(); });
          loop_->stop();
        },
        [](const std::string& who, const std::string& reason) {
          fail(ErrorKind::peer, "{}: {}", who, reason);
        });
    const std::string found = listener_->address().to_string();
    const bool told = ::write(ends[1], found.data(), found.size()) == static_cast<ssize_t>(found.size());
    ::close(ends[1]);
    if (!told) fail(ErrorKind::io, "cannot write to a pipe");
    loop_->run();
  }

  void exchange() override {
    end_->send_all();
    loop_->run();
  }

 private:
  void answer(int pipe) {
    char text[256];
    const ssize_t length = ::read(pipe, text, sizeof text);
    transport::Loop loop;
    std::unique_ptr<End> end;
    const auto call = transport::call(
        loop, transport::Address::parse({text, static_cast<std::size_t>(length)}), nullptr, {}, {},
        [&](std::unique_ptr<transport::Connection> peer) {
          end = std::make_unique<End>(std::move(peer), arrays_, [&] { end->send_all(); });
        },
        [](const std::string& reason) { fail(ErrorKind::peer, "{}", reason); });
    loop.run();
  }

  Arrays arrays_;
  std::unique_ptr<Child> child_;
  std::unique_ptr<transport::Loop> loop_;
  std::unique_ptr<transport::Listener> listener_;
  std::unique_ptr<End> end_;
};

struct WayRow {
  const char* name;
  std::unique_ptr<Way> (*make)(std::size_t bytes);
};

// The first is what the others are compared with.
const WayRow kWays[] = {
    {"bare tcp", [](std::size_t bytes) -> std::unique_ptr<Way> { return std::make_unique<BareTcp>(bytes); }},
    {"tcp",
     [](std::size_t bytes) -> std::unique_ptr<Way> {
       return std::make_unique<Frames>("tcp:127.0.0.1:0", bytes);
     }},
    {"unix",
     [](std::size_t bytes) -> std::unique_ptr<Way> {
       return std::make_unique<Frames>("unix:" + path_of("unix"), bytes);
     }},
    {"shm",
     [](std::size_t bytes) -> std::unique_ptr<Way> {
       return std::make_unique<Frames>("shm:" + path_of("shm"), bytes);
     }},
    {"ps tcp", [](std::size_t bytes) { return make_parameter_server("tcp:127.0.0.1:0", bytes); }},
    {"ps unix", [](std::size_t bytes) { return make_parameter_server("unix:" + path_of("ps-unix"), bytes); }},
    {"ps shm", [](std::size_t bytes) { return make_parameter_server("shm:" + path_of("ps-shm"), bytes); }},
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double seconds_of(Way& way) {
  const auto begin = Clock::now();
  way.exchange();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// All ways in turn, again and again: what disturbs the machine disturbs them alike. Several exchanges at a
// turn: one way must not pay for what another left in the caches.
std::vector<double> medians(std::size_t bytes, int rounds) {
  std::vector<std::unique_ptr<Way>> ways;
  for (const WayRow& row : kWays) ways.push_back(row.make(bytes));
  std::vector<std::vector<double>> seconds(ways.size());
  if (rounds == 0) rounds = static_cast<int>(std::clamp<std::size_t>((std::size_t{64} << 20) / bytes, 3, 40));
  constexpr int kFirst = 3, kAtATurn = 10;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < ways.size(); ++i) {
      for (int exchange = 0; exchange < kFirst; ++exchange) seconds_of(*ways[i]);
      for (int exchange = 0; exchange < kAtATurn; ++exchange) seconds[i].push_back(seconds_of(*ways[i]));
    }
  std::vector<double> middle;
  for (auto& values : seconds) middle.push_back(median(std::move(values)));
  return middle;
}

void print_table(const std::vector<std::size_t>& sizes, int rounds) {
  fmt::print("push and pull, median milliseconds; in brackets: of bare tcp\n{:>10}", "bytes");
  for (const WayRow& row : kWays) fmt::print("{:>18}", row.name);
  fmt::print("\n");
  for (const std::size_t bytes : sizes) {
    const std::vector<double> seconds = medians(bytes, rounds);
    fmt::print("{:>10}", bytes);
    for (const double value : seconds) fmt::print("{:>11.3f} ({:.2f})", value * 1e3, value / seconds[0]);
    fmt::print("\n");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace trainyard

int main(int count, char** arguments) {
  std::vector<std::size_t> sizes;
  int rounds = 0;  // as many as take some seconds
  for (int i = 1; i < count; ++i)
    if (std::string(arguments[i]) == "--rounds" && i + 1 < count)
      rounds = std::atoi(arguments[++i]);
    else if (const std::size_t bytes = std::strtoull(arguments[i], nullptr, 10); bytes >= sizeof(float))
      sizes.push_back(bytes);
    else
      return fmt::print(stderr, "exchange: '{}': wants [--rounds N] [BYTES...]\n", arguments[i]), 1;
  if (sizes.empty()) sizes = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4273192, 16 << 20, 64 << 20};
  try {
    trainyard::print_table(sizes, rounds);
  } catch (const trainyard::Error& error) {
    fmt::print(stderr, "exchange: {}\n", error.what());
    return 1;
  }
}
