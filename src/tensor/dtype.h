#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard {

// f64 exists for numeric gradient checks on the reference backend, bf16 for activations on devices that have
// it.
enum class DType : std::uint8_t { f32, f64, i32, u8, bf16 };

std::size_t size_of(DType dtype);
const char* name(DType dtype);

// The type in which sums over tensors of this type are kept.
constexpr DType sum_type(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

template <typename T>
struct DTypeOf;  // BFloat16: tensor/bfloat16.h
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

}  // namespace trainyard
