#include "ps/messages.h"

#include "base/error.h"

namespace trainyard::ps {
namespace {

template <typename Number>
std::byte* put(std::byte* at, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    *at++ = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
  return at;
}

template <typename Number>
const std::byte* get(const std::byte* at, Number& number) {
  std::uint64_t wide = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) wide |= static_cast<std::uint64_t>(*at++) << (8 * i);
  number = static_cast<Number>(wide);
  return at;
}

}  // namespace

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
