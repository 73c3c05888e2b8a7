#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "tensor/bfloat16.h"

// Numbers as they come over the wire, of 16 bits or 32.
namespace trainyard::ps {

inline void round_numbers(std::span<const float> from, std::span<BFloat16> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = BFloat16(from[i]);
}

inline void widen_numbers(std::span<const BFloat16> from, std::span<float> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]);
}

// Without a branch a number, so that it takes no longer than to read them.
inline bool all_finite(std::span<const float> numbers) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t infinite = 0;
  for (const float number : numbers)
    infinite |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(number) & kExponent) == kExponent);
  return infinite == 0;
}

}  // namespace trainyard::ps
