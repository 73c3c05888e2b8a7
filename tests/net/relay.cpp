#include "net/relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/pipe.h"

namespace trainyard::net_test {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
// Small, so that a slow way is felt by who sends, and not kept in the kernel.
constexpr int kKernelBytes = 128 << 10;
constexpr Way kWays[] = {Way::to_target, Way::to_caller};

std::size_t index(Way way) { return static_cast<std::size_t>(way); }
const char* name(Way way) { return way == Way::to_target ? "to the target" : "to the caller"; }

void prepare(const Socket& socket) {
  const int yes = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVBUF, &kKernelBytes, sizeof kKernelBytes);
  ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDBUF, &kKernelBytes, sizeof kKernelBytes);
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

struct Relay::Connection {
  struct Side {
    Pipe pipe;
    bool source_ended = false;  // nothing more to read
    bool sink_ended = false;    // nothing more to write: what is read is thrown away
    bool sink_is_full = false;
    short heard = 0;
  };

  int number = 0;
  std::array<Socket, 2> sockets;  // what a way reads from: the caller, the target
  std::array<Side, 2> sides;
  bool is_cut = false;

  Side& side(Way way) { return sides[index(way)]; }
  Socket& source(Way way) { return sockets[index(way)]; }
  Socket& sink(Way way) { return sockets[1 - index(way)]; }
  bool over() const {
    return !sockets[0].is_open() || std::all_of(sides.begin(), sides.end(), [](const Side& side) {
      return side.source_ended && side.sink_ended;
    });
  }
  // Returns the events to wait for at socket `i`: reading for its own direction, writing for the other one.
  short wanted(std::size_t i) const {
    const Side &in = sides[i], &out = sides[1 - i];
    const bool reads = !in.source_ended && (in.sink_ended || in.pipe.room() > 0);
    return static_cast<short>((reads ? POLLIN : 0) | (out.sink_is_full && !out.sink_ended ? POLLOUT : 0));
  }
};

Relay::Relay(Options options)
    : options_(std::move(options)),
      listener_(listen_at(options_.listen)),
      waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      address_(address_of(listener_)),
      began_(now_seconds()) {
  prepare(listener_);
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake();
  thread_.join();
}

void Relay::set_target(std::optional<Address> target) {
  const std::lock_guard lock(mutex_);
  options_.target = std::move(target);
}

void Relay::set_plan(Plan plan) {
  const std::lock_guard lock(mutex_);
  options_.plan = std::move(plan);
}

void Relay::set_conditions(const Conditions& conditions, double seconds) {
  {
    const std::lock_guard lock(mutex_);
    conditions_ = conditions;
    conditions_until_ = now_seconds() + seconds;
    for (const auto& connection : connections_)
      for (Connection::Side& side : connection->sides) side.pipe.set_conditions(conditions);
    note(-1, {},
         fmt::format("delay {} s, jitter {} s, {} bytes/s", conditions.delay_seconds,
                     conditions.jitter_seconds, conditions.bytes_per_second));
  }
  wake();
}

void Relay::stall(double seconds) {
  {
    const std::lock_guard lock(mutex_);
    stalled_until_ = now_seconds() + seconds;
    note(-1, {}, fmt::format("stall of {} s", seconds));
  }
  wake();
}

void Relay::refuse(double seconds) {
  const std::lock_guard lock(mutex_);
  refuses_until_ = now_seconds() + seconds;
  note(-1, {}, fmt::format("refuses for {} s", seconds));
}

void Relay::cut_all(Fault::Kind kind) {
  TRAINYARD_CHECK(kind == Fault::Kind::fin || kind == Fault::Kind::rst);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_) cut(*connection, kind, "as ordered");
  }
  wake();
}

void Relay::order(const Fault& fault, Way way) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_) connection->side(way).pipe.order(fault);
  }
  wake();
}

int Relay::open_connections() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(connections_.begin(), connections_.end(),
                                        [](const auto& connection) { return !connection->over(); }));
}

std::vector<std::byte> Relay::recorded(int connection, Way way) const {
  const std::lock_guard lock(mutex_);
  return records_.at(static_cast<std::size_t>(connection))[index(way)];
}

std::string Relay::Event::to_string() const {
  return fmt::format("{:.3f} s, connection {}{}{}: {}", seconds, connection, way ? ", " : "",
                     way ? name(*way) : "", what);
}

std::vector<Relay::Event> Relay::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::string Relay::history() const {
  std::string lines;
  for (const Event& event : events()) lines += event.to_string() + "\n";
  return lines;
}

void Relay::run() {
  std::vector<pollfd> polled;
  std::unique_lock lock(mutex_);
  while (!stops_) {
    polled = {{waker_.number(), POLLIN, 0}, {listener_.number(), POLLIN, 0}};
    for (const auto& connection : connections_)
      for (std::size_t i = 0; i < 2; ++i) {
        const short wanted = connection->wanted(i);
        // Without a wish it would still be woken by a socket that broke, again and again.
        polled.push_back({wanted != 0 ? connection->sockets[i].number() : -1, wanted, 0});
      }
    const double seconds = wait_seconds(now_seconds());
    const timespec wait{static_cast<time_t>(seconds), static_cast<long>(std::fmod(seconds, 1.0) * 1e9)};
    lock.unlock();
    ::ppoll(polled.data(), polled.size(), &wait, nullptr);
    lock.lock();

    std::uint64_t ignored = 0;
    if (polled[0].revents != 0 && ::read(waker_.number(), &ignored, sizeof ignored) < 0 && !would_block())
      return;
    const double now = now_seconds();
    end_conditions(now);
    // Only the thread adds and removes connections: they are those that were polled.
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      for (std::size_t j = 0; j < 2; ++j) connections_[i]->sides[j].heard = polled[2 + 2 * i + j].revents;
      pump(*connections_[i], now);
    }
    std::erase_if(connections_, [](const auto& connection) { return connection->over(); });
    if (polled[1].revents != 0) accept_all(now);
  }
}

double Relay::wait_seconds(double now) const {
  double next = now + 60;
  if (conditions_) next = std::min(next, conditions_until_);
  for (const auto& connection : connections_)
    for (const Connection::Side& side : connection->sides)
      if (!side.sink_ended && !side.sink_is_full)
        next = std::min(next, std::max(stalled_until_, side.pipe.next_time()));
  return std::max(0.0, next - now);
}

void Relay::accept_all(double now) {
  pollfd waiting{listener_.number(), POLLIN, 0};
  while (::poll(&waiting, 1, 0) > 0) {
    Socket caller(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!caller.is_open()) return;
    open(std::move(caller), now);
  }
}

void Relay::open(Socket caller, double now) {
  const int number = connections_so_far_++;
  records_.emplace_back();
  try {
    if (now < refuses_until_) fail(ErrorKind::peer, "nobody is let in now");
    if (!options_.target) fail(ErrorKind::peer, "there is no target");
    Socket target = connect_to(*options_.target, false);
    for (const Socket* socket : {&caller, &target}) prepare(*socket);
    const auto make_side = [&](Way way) {
      Script script = options_.plan ? options_.plan(number, way) : Script();
      if (conditions_) script.conditions = *conditions_;
      const Philox jitter(options_.seed, mix_streams(static_cast<std::uint64_t>(number), index(way)));
      return Connection::Side{Pipe(std::move(script), jitter, [this, number, way](const Fault& fault) {
        note(number, way, fault.to_string());
      })};
    };
    connections_.push_back(std::make_unique<Connection>(Connection{
        number, {std::move(caller), std::move(target)}, {make_side(kWays[0]), make_side(kWays[1])}}));
    note(number, {}, "opened to " + options_.target->to_string());
  } catch (const Error& error) {
    caller.reset();
    note(number, {}, fmt::format("turned away: {}", error.what()));
  }
}

void Relay::pump(Connection& connection, double now) {
  for (const Way way : kWays) {
    if (connection.over()) return;
    Connection::Side& side = connection.side(way);
    if (side.heard != 0 && !side.source_ended) read_from(connection, way, now);
    if (!connection.over() && !side.sink_ended && now >= stalled_until_) write_to(connection, way, now);
  }
  if (connection.over() && !connection.is_cut) note(connection.number, {}, "ended by its ends");
}

void Relay::read_from(Connection& connection, Way way, double now) {
  Connection::Side& side = connection.side(way);
  std::array<std::byte, kReadBytes> bytes;
  const std::size_t room = side.sink_ended ? kReadBytes : std::min(kReadBytes, side.pipe.room());
  if (room == 0) return;
  const ssize_t count = ::recv(connection.source(way).number(), bytes.data(), room, 0);
  if (count < 0) {
    if (!would_block()) cut(connection, Fault::Kind::rst, std::strerror(errno));
    return;
  }
  if (count == 0) {
    side.source_ended = true;
    if (!side.sink_ended) side.pipe.ended(now);
    return;
  }
  if (side.sink_ended) return;
  const auto read = std::span(bytes).first(static_cast<std::size_t>(count));
  side.pipe.received(read, now);
  auto& record = records_[static_cast<std::size_t>(connection.number)][index(way)];
  const std::size_t kept = std::min(read.size(), options_.recorded_bytes - record.size());
  record.insert(record.end(), read.begin(), read.begin() + static_cast<std::ptrdiff_t>(kept));
}

void Relay::write_to(Connection& connection, Way way, double now) {
  Connection::Side& side = connection.side(way);
  side.sink_is_full = false;
  for (auto bytes = side.pipe.ready(now); !bytes.empty(); bytes = side.pipe.ready(now)) {
    const ssize_t count = ::send(connection.sink(way).number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0) {
      if (!would_block()) return cut(connection, Fault::Kind::rst, std::strerror(errno));
      side.sink_is_full = true;
      return;
    }
    side.pipe.sent(static_cast<std::size_t>(count), now);
  }
  if (side.pipe.cut()) return cut(connection, *side.pipe.cut(), "by the plan");
  if (!side.pipe.finished(now)) return;
  ::shutdown(connection.sink(way).number(), SHUT_WR);
  side.sink_ended = true;
}

void Relay::cut(Connection& connection, Fault::Kind kind, const std::string& why) {
  if (connection.is_cut)
    kind = Fault::Kind::rst;  // its ends go one after the other, that is no event
  else
    note(connection.number, {},
         fmt::format("{}, {} bytes went to the target, {} to the caller: {}",
                     kind == Fault::Kind::rst ? "rst" : "fin",
                     connection.side(Way::to_target).pipe.sent_bytes(),
                     connection.side(Way::to_caller).pipe.sent_bytes(), why));
  connection.is_cut = true;
  if (kind == Fault::Kind::rst) {
    for (Socket& socket : connection.sockets) socket.reset();
    return;
  }
  // Not closed while something can come: what was not read would make it a reset.
  for (std::size_t i = 0; i < 2; ++i) {
    ::shutdown(connection.sockets[i].number(), SHUT_WR);
    connection.sides[i].sink_ended = true;
  }
}

void Relay::end_conditions(double now) {
  if (!conditions_ || now < conditions_until_) return;
  conditions_.reset();
  for (const auto& connection : connections_)
    for (const Way way : kWays)
      connection->side(way).pipe.set_conditions(
          options_.plan ? options_.plan(connection->number, way).conditions : Conditions());
  note(-1, {}, "conditions as they were");
}

void Relay::note(int connection, std::optional<Way> way, const std::string& what) {
  events_.push_back({now_seconds() - began_, connection, way, what});
}

void Relay::wake() const {
  const std::uint64_t one = 1;
  if (::write(waker_.number(), &one, sizeof one) < 0) return;  // it is awake already
}

}  // namespace trainyard::net_test
