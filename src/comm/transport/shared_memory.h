#pragma once

#include <atomic>

#include "base/standard.h"

namespace trainyard::comm::transport {

// A stream of bytes in memory that two processes share: one writes, one reads, neither ever waits inside.
// Each side keeps its own position private and only publishes it; it checks the other's position before it
// uses it, so that a faulty peer cannot make this side leave the ring.

// Both places count all bytes since the beginning. In lines of their own: each is written by one side.
struct RingControl {
  alignas(128) std::atomic<std::uint64_t> written = 0;
  alignas(128) std::atomic<std::uint64_t> read = 0;
  alignas(128) std::atomic<std::uint32_t> reader_waits = 0;
  alignas(128) std::atomic<std::uint32_t> writer_waits = 0;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct Ring {
  RingControl& control;
  std::byte* bytes;  // kRingBytes of them
};

// Memory that the two ends of a connection share: a ring for each direction.
class SharedMemory {
 public:
  enum class Direction : std::uint8_t { to_listener, to_caller };

  // Makes it and hands it over a Unix socket. Error (io): there is none to be had.
  static SharedMemory offer(int socket);
  // Maps the memory that a peer offers on the socket. Error (peer): the peer offers none, or memory that it
  // could shrink while this side uses it.
  static SharedMemory take(int socket);

  Ring ring(Direction direction) const;

 private:
  struct Unmap {
    void operator()(std::byte* memory) const;
  };
  explicit SharedMemory(std::byte* memory) : memory_(memory) {}
  static SharedMemory map(int descriptor);

  std::unique_ptr<std::byte, Unmap> memory_;
};

// Measured: with less, the two sides sleep and wake each other more often; with more, it leaves the cache.
inline constexpr std::size_t kRingBytes = 1 << 20;

class RingWriter {
 public:
  explicit RingWriter(const Ring& ring) : control_(ring.control), bytes_(ring.bytes) {}

  // Looks again when there are none. Error (peer): the reader's place cannot be.
  std::size_t room();
  // REQUIRES: room for it.
  void put(std::span<const std::byte> piece);
  std::size_t unpublished() const { return place_ - published_; }
  // Lets the reader see what was put. True: it sleeps, and must be woken.
  bool publish();
  // Asks to be woken when much is free. False: it is already.
  bool sleep();

 private:
  RingControl& control_;
  std::byte* bytes_;
  std::uint64_t place_ = 0, published_ = 0, read_ = 0;
};

class RingReader {
 public:
  explicit RingReader(const Ring& ring) : control_(ring.control), bytes_(ring.bytes) {}

  // Looks again when there are fewer than `wanted`. Error (peer): the writer's place cannot be.
  std::size_t available(std::size_t wanted);
  // REQUIRES: as many available.
  void take(std::span<std::byte> piece);
  std::size_t unpublished() const { return place_ - published_; }
  // Lets the writer have what was taken. True: it sleeps, and must be woken.
  bool publish();
  // Asks to be woken when something comes. False: as many are there already.
  bool sleep(std::size_t wanted);

 private:
  RingControl& control_;
  const std::byte* bytes_;
  std::uint64_t place_ = 0, published_ = 0, written_ = 0;
};

}  // namespace trainyard::comm::transport
