#pragma once

#include <cstdint>
#include <string>

#include <boost/asio/io_context.hpp>

#include "comm/transport/stream_connection.h"

namespace trainyard::comm::transport {

// Where a process listens: "tcp:HOST:PORT" (port 0: any that is free), "unix:PATH", or "shm:PATH":
// shared memory, for which the two sides meet at a Unix socket.
struct Address {
  enum class Kind : std::uint8_t { tcp, unix_socket, shared_memory };
  Kind kind = Kind::tcp;
  std::string host = "127.0.0.1";  // or the path
  std::uint16_t port = 0;

  // Error (config) that says what is allowed.
  static Address parse(const std::string& text);
  std::string to_string() const;

  bool is_path() const { return kind != Kind::tcp; }
  // Reached from this machine alone.
  bool is_local() const;
};

using Endpoint = boost::asio::generic::stream_protocol::endpoint;

// Error (config) when the host is not known or the path is too long.
Endpoint endpoint_of(boost::asio::io_context& context, const Address& address);

// REQUIRES: of TCP.
std::uint16_t port_of(const Endpoint& endpoint);

// Where the other end of a socket is, for messages.
std::string peer_text(const Socket& socket);

// Frames are sent when they are given, not when more of them would fill a packet.
void send_at_once(Socket& socket);

}  // namespace trainyard::comm::transport
