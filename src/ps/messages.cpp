#include "ps/messages.h"

#include "base/error.h"
#include "comm/transport/little_endian.h"

namespace trainyard::ps {

using comm::transport::get;
using comm::transport::put;

WelcomeBytes encode(const Welcome& welcome) {
  WelcomeBytes bytes{};
  put(put(put(put(bytes.data(), welcome.elements), welcome.keys), welcome.servers), welcome.server);
  return bytes;
}

Welcome decode_welcome(std::span<const std::byte> bytes) {
  if (bytes.size() != kWelcomeBytes)
    fail(ErrorKind::peer, "a welcome of {} bytes came, it has {}", bytes.size(), kWelcomeBytes);
  Welcome welcome;
  get(get(get(get(bytes.data(), welcome.elements), welcome.keys), welcome.servers), welcome.server);
  return welcome;
}

}  // namespace trainyard::ps
