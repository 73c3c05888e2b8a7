#include "comm/transport/address.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <charconv>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "base/error.h"

namespace trainyard::comm::transport {

namespace {

constexpr std::pair<Address::Kind, std::string_view> kPaths[] = {{Address::Kind::unix_socket, "unix:"},
                                                                 {Address::Kind::shared_memory, "shm:"}};

}  // namespace

Address Address::parse(const std::string& text) {
  const auto wrong = [&] {
    fail(ErrorKind::config, "address '{}': allowed are tcp:HOST:PORT, unix:PATH and shm:PATH", text);
  };
  for (const auto& [kind, prefix] : kPaths) {
    if (!text.starts_with(prefix)) continue;
    if (text.size() == prefix.size()) wrong();
    return {kind, text.substr(prefix.size()), 0};
  }
  const auto colon = text.rfind(':');
  if (!text.starts_with("tcp:") || colon <= 4) wrong();
  Address address{Kind::tcp, text.substr(4, colon - 4), 0};
  const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(begin, end, address.port);
  if (error != std::errc{} || stopped != end || begin == end) wrong();
  return address;
}

std::string Address::to_string() const {
  for (const auto& [path_kind, prefix] : kPaths)
    if (kind == path_kind) return prefix.data() + host;
  return fmt::format("tcp:{}:{}", host, port);
}

bool Address::is_local() const {
  return is_path() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

using boost::asio::ip::tcp;

namespace {

// REQUIRES: a TCP endpoint.
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
