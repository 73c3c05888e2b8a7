#pragma once

#include <boost/asio/generic/stream_protocol.hpp>

#include "comm/transport/connection.h"
#include "comm/transport/shared_memory.h"

namespace trainyard::comm::transport {

using Socket = boost::asio::generic::stream_protocol::socket;

// Returns a connection over a socket on which the handshake is done.
std::unique_ptr<Connection> make_stream_connection(Socket socket, const Hello& peer, std::string address,
                                                   const ConnectionLimits& limits);

// Reads or writes go on until all is done: asio by itself asks for at most 64 KiB at a time.
inline constexpr auto kWhole = [](const boost::system::error_code& error, std::size_t) {
  return error ? std::size_t{0} : std::size_t{1} << 30;
};

enum class Side : std::uint8_t { caller, listener };

// Makes a connection through shared memory. The socket over which the memory was handed stays open: a byte on
// it wakes the peer, and its end tells that the peer is gone.
std::unique_ptr<Connection> make_memory_connection(Socket socket, SharedMemory memory, Side side,
                                                   const Hello& peer, std::string address,
                                                   const ConnectionLimits& limits);

}  // namespace trainyard::comm::transport
