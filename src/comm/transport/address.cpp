#include "comm/transport/address.h"

#include <charconv>
#include <string_view>
#include <utility>

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

}  // namespace trainyard::comm::transport
