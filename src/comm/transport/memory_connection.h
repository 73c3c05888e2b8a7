#pragma once

#include "comm/transport/connection.h"
#include "comm/transport/shared_memory.h"
#include "comm/transport/stream_connection.h"

namespace trainyard::comm::transport {

enum class Side : std::uint8_t { caller, listener };

// A connection through shared memory. The socket over which it was handed stays: a byte on it wakes the peer,
// and its end tells that the peer is gone.
std::unique_ptr<Connection> make_memory_connection(Socket socket, SharedMemory memory, Side side,
                                                   const Hello& peer, std::string address,
                                                   const ConnectionLimits& limits);

}  // namespace trainyard::comm::transport
