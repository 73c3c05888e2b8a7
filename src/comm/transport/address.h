#pragma once

#include <boost/asio/io_context.hpp>

#include "comm/transport/stream_connection.h"

namespace trainyard::comm::transport {

// Address is the address at which a process listens: "tcp:HOST:PORT" (port 0 selects any free port),
// "unix:PATH", or "shm:PATH". The last is shared memory, which the two sides set up over a Unix socket.
struct Address {
  enum class Kind : std::uint8_t { tcp, unix_socket, shared_memory };
  Kind kind = Kind::tcp;
  std::string host = "127.0.0.1";  // or the path
  std::uint16_t port = 0;

  // Error (config) that says what is allowed.
  static Address parse(const std::string& text);
  std::string to_string() const;

  bool is_path() const { return kind != Kind::tcp; }
  // Returns whether the address can be reached from this machine alone.
  bool is_local() const;
};

using Endpoint = boost::asio::generic::stream_protocol::endpoint;

// Error (config) when the host is not known or the path is too long.
Endpoint endpoint_of(boost::asio::io_context& context, const Address& address);

// REQUIRES: a TCP endpoint.
std::uint16_t port_of(const Endpoint& endpoint);

// Returns the address of the socket's other end, for messages.
std::string peer_text(const Socket& socket);

// Frames are sent when they are given, not when more of them would fill a packet.
void send_at_once(Socket& socket);

}  // namespace trainyard::comm::transport
