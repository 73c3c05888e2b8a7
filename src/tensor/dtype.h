#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace trainyard {

// f64 exists for numeric gradient checks on the reference backend, bf16 for activations on devices that have
// it.
enum class DType : std::uint8_t { f32, f64, i32, u8, bf16 };

std::size_t size_of(DType dtype);
const char* name(DType dtype);

// Returns the type in which sums over tensors of this type are kept.
constexpr DType sum_type(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};

// A BFloat16 is the upper half of an f32. Conversion rounds to nearest, ties to even, as devices do.
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

// Buffers of tensors begin at multiples of this.
constexpr std::size_t kBufferAlignment = 64;

inline std::size_t align_up(std::size_t bytes, std::size_t alignment = kBufferAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace trainyard
