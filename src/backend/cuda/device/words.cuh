#pragma once

#include <numeric>

#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {

// The largest word, of at most 16 bytes, that all these multiples of a power of two consist of.
template <typename... Bytes>
std::int64_t word_bytes(Bytes... bytes) {
  std::int64_t word = 16;
  ((word = std::gcd(word, static_cast<std::int64_t>(bytes))), ...);
  return word;
}

// Calls start(Word{}) with a type of so many bytes.
template <typename Start>
void with_word(std::int64_t bytes, const Start& start) {
  if (bytes == 16) start(uint4{});
  if (bytes == 8) start(uint2{});
  if (bytes == 4) start(std::uint32_t{});
  if (bytes == 2) start(std::uint16_t{});
  if (bytes == 1) start(std::uint8_t{});
}

}  // namespace trainyard::backend::cuda::device
