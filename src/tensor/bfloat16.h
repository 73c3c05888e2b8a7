#pragma once

#include <bit>
#include <cstdint>

#include "tensor/dtype.h"

namespace trainyard {

// The upper half of an f32. Rounds to nearest, ties to even, as devices do.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool nan = (word & 0x7FFFFFFFu) > 0x7F800000u;
    bits = static_cast<std::uint16_t>(nan ? word >> 16 | 0x40u : (word + 0x7FFFu + (word >> 16 & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};

}  // namespace trainyard
