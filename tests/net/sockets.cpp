#include "net/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/philox.h"

namespace trainyard::net_test {
namespace {

struct Place {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Place place_of(const Address& address) {
  Place place;
  if (address.kind == Address::Kind::unix_socket) {
    auto& local = reinterpret_cast<sockaddr_un&>(place.storage);
    local.sun_family = AF_UNIX;
    if (address.host.size() >= sizeof local.sun_path) fail(ErrorKind::io, "{} is too long", address.host);
    address.host.copy(local.sun_path, sizeof local.sun_path - 1);
    place.length = sizeof local;
    return place;
  }
  auto& in = reinterpret_cast<sockaddr_in&>(place.storage);
  in.sin_family = AF_INET;
  in.sin_port = htons(address.port);
  if (::inet_pton(AF_INET, address.host.c_str(), &in.sin_addr) != 1)
    fail(ErrorKind::io, "{} is no address of four numbers", address.host);
  place.length = sizeof in;
  return place;
}

bool wait_for(int number, short event, double deadline) {
  pollfd wanted{number, event, 0};
  for (;;) {
    const double left = deadline - now_seconds();
    if (left <= 0) return false;
    const int found = ::poll(&wanted, 1, static_cast<int>(left * 1000) + 1);
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
}

}  // namespace

Socket::~Socket() {
  if (number_ >= 0) ::close(number_);
}

void Socket::reset() {
  const linger at_once{1, 0};
  if (number_ >= 0) ::setsockopt(number_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

std::size_t Socket::read(std::span<std::byte> room, double seconds) const {
  const double deadline = now_seconds() + seconds;
  std::size_t done = 0;
  while (done < room.size() && wait_for(number_, POLLIN, deadline)) {
    const ssize_t count = ::recv(number_, room.data() + done, room.size() - done, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) break;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return done;
}

bool Socket::write(std::span<const std::byte> bytes, double seconds) const {
  const double deadline = now_seconds() + seconds;
  while (!bytes.empty()) {
    if (!wait_for(number_, POLLOUT, deadline)) return false;
    const ssize_t count = ::send(number_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool Socket::wait_for_end(double seconds) const {
  const double deadline = now_seconds() + seconds;
  std::array<std::byte, 4096> ignored;
  while (wait_for(number_, POLLIN, deadline)) {
    const ssize_t count = ::recv(number_, ignored.data(), ignored.size(), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return true;
  }
  return false;
}

Socket connect_to(const Address& address, bool blocking) {
  const Place place = place_of(address);
  Socket socket(
      ::socket(place.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0));
  const int yes = 1;  // each write goes at once; does nothing where it is no TCP
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const int status = ::connect(socket.number(), place.get(), place.length);
  if (status != 0 && (blocking || errno != EINPROGRESS))
    fail(ErrorKind::io, "cannot connect to {}: {}", address.to_string(), std::strerror(errno));
  return socket;
}

Socket listen_at(const Address& address) {
  const Place place = place_of(address);
  Socket socket(::socket(place.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.number(), place.get(), place.length) != 0 || ::listen(socket.number(), SOMAXCONN) != 0)
    fail(ErrorKind::io, "cannot listen at {}: {}", address.to_string(), std::strerror(errno));
  return socket;
}

Socket accept_from(const Socket& listener, double seconds) {
  if (!wait_for(listener.number(), POLLIN, now_seconds() + seconds)) fail(ErrorKind::io, "nobody called");
  return Socket(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
}

Address address_of(const Socket& listener) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  ::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&storage), &length);
  if (storage.ss_family == AF_UNIX)
    return {Address::Kind::unix_socket, reinterpret_cast<const sockaddr_un&>(storage).sun_path, 0};
  return {Address::Kind::tcp, "127.0.0.1", ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port)};
}

std::vector<std::byte> noise(std::uint64_t seed, std::size_t count) {
  const Philox random(seed, stream_of("noise"));
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; i += 16) {
    const Philox::Block block = random.block(i / 16);
    std::memcpy(bytes.data() + i, block.data(), std::min<std::size_t>(16, count - i));
  }
  return bytes;
}

void allow_many_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace trainyard::net_test
