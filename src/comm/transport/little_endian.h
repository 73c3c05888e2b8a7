#pragma once

#include <cstddef>
#include <cstdint>

// Numbers on the wire lie with their lowest byte first, on every machine.
namespace trainyard::comm::transport {

// Both return where the next one lies.
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

}  // namespace trainyard::comm::transport
