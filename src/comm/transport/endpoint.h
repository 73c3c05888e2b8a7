#pragma once

#include <boost/asio/io_context.hpp>

#include "comm/transport/address.h"
#include "comm/transport/stream_connection.h"

namespace trainyard::comm::transport {

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
