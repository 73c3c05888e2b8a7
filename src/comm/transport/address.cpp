#include "comm/transport/address.h"

#include <charconv>

#include "base/error.h"

namespace trainyard::comm::transport {

Address Address::parse(const std::string& text) {
  const auto wrong = [&] {
    fail(ErrorKind::config, "address '{}': allowed are tcp:HOST:PORT and unix:PATH", text);
  };
  if (text.starts_with("unix:")) {
    if (text.size() == 5) wrong();
    return {Kind::unix_socket, text.substr(5), 0};
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
  return kind == Kind::unix_socket ? "unix:" + host : fmt::format("tcp:{}:{}", host, port);
}

bool Address::is_local() const {
  return kind == Kind::unix_socket || host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace trainyard::comm::transport
