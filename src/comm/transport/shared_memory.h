#pragma once

#include <memory>

#include "comm/transport/ring.h"

namespace trainyard::comm::transport {

// Memory that the two ends of a connection share: a ring for each direction.
class SharedMemory {
 public:
  enum class Direction : std::uint8_t { to_listener, to_caller };

  // Makes it and hands it over a Unix socket. Error (io): there is none to be had.
  static SharedMemory offer(int socket);
  // What a peer offers, as far as it has come. Error (peer): none, or such as could shrink under our feet.
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

}  // namespace trainyard::comm::transport
