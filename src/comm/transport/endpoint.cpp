#include "comm/transport/endpoint.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "base/error.h"

namespace trainyard::comm::transport {

using boost::asio::ip::tcp;

namespace {

// REQUIRES: of TCP.
tcp::endpoint tcp_endpoint(const Endpoint& endpoint) {
  tcp::endpoint readable;
  readable.resize(endpoint.size());
  std::copy_n(reinterpret_cast<const char*>(endpoint.data()), endpoint.size(),
              reinterpret_cast<char*>(readable.data()));
  return readable;
}

}  // namespace

Endpoint endpoint_of(boost::asio::io_context& context, const Address& address) {
  if (address.is_path()) {
    if (address.host.size() >= sizeof(sockaddr_un::sun_path))
      fail(ErrorKind::config, "address '{}': the path has {} bytes, at most {} are allowed",
           address.to_string(), address.host.size(), sizeof(sockaddr_un::sun_path) - 1);
    return Endpoint(boost::asio::local::stream_protocol::endpoint(address.host));
  }
  boost::system::error_code error;
  const auto found = tcp::resolver(context).resolve(address.host, std::to_string(address.port),
                                                    tcp::resolver::numeric_service, error);
  if (error || found.empty())
    fail(ErrorKind::config, "address '{}': host '{}' is not known", address.to_string(), address.host);
  return Endpoint(found.begin()->endpoint());
}

std::string peer_text(const Socket& socket) {
  boost::system::error_code error;
  const Endpoint endpoint = socket.remote_endpoint(error);
  if (error) return "a peer that is gone";
  if (endpoint.protocol().family() == AF_UNIX) return "a process of this machine";
  const tcp::endpoint readable = tcp_endpoint(endpoint);
  return fmt::format("{}:{}", readable.address().to_string(), readable.port());
}

std::uint16_t port_of(const Endpoint& endpoint) { return tcp_endpoint(endpoint).port(); }

void send_at_once(Socket& socket) {
  boost::system::error_code error;
  const Endpoint endpoint = socket.local_endpoint(error);
  if (error || endpoint.protocol().family() == AF_UNIX) return;
  socket.set_option(tcp::no_delay(true), error);
}

}  // namespace trainyard::comm::transport
