#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "comm/transport/address.h"

// Plain sockets, for those who do not play by the rules. Errors are of kind io.
namespace trainyard::net_test {

using comm::transport::Address;

inline constexpr double kPatienceSeconds = 30;  // what should come at once comes later on a busy machine

// Closed when it goes.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int number) : number_(number) {}
  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Socket();

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close() { Socket(std::move(*this)); }
  // The other end is told that the connection broke, not that it ended.
  void reset();

  // Waits at most so many seconds for each; then and when the other end is gone, what there is. `room` is
  // filled as far as it goes.
  std::size_t read(std::span<std::byte> room, double seconds = kPatienceSeconds) const;
  bool write(std::span<const std::byte> bytes, double seconds = kPatienceSeconds) const;
  // Reads until the other end closes; false: it did not within so many seconds.
  bool wait_for_end(double seconds = kPatienceSeconds) const;

 private:
  int number_ = -1;
};

// Hosts are numbers: no names are looked up. Does not wait for the other side when not `blocking`.
Socket connect_to(const Address& address, bool blocking = true);
Socket listen_at(const Address& address);
Socket accept_from(const Socket& listener, double seconds = kPatienceSeconds);
Address address_of(const Socket& listener);

// The bytes that a seed stands for.
std::vector<std::byte> noise(std::uint64_t seed, std::size_t count);

// Descriptors for crowds: as many as this process may have.
void allow_many_descriptors();

}  // namespace trainyard::net_test
