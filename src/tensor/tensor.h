#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

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

// Dimensions in logical order: images are (batch, channel, row, column), convolution weights (output channel,
// input channel of the group, row, column). The physical order is a Layout's business.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);
  // What to_string() made. Error (config).
  static Shape parse(std::string_view text);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  void append(std::int64_t dim);
  std::int64_t elements() const;  // 1 for a scalar (rank 0)
  std::int64_t elements_from(int axis) const;
  std::string to_string() const;  // "128x3x24x24", "scalar"

  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + rank_; }
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

constexpr std::size_t kBufferAlignment = 64;

inline std::size_t align_up(std::size_t bytes, std::size_t alignment = kBufferAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Uninitialised host memory aligned to kBufferAlignment.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t bytes);
  std::byte* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t bytes_ = 0;
};

// A tensor in host memory, plain layout, zero-initialised. Owns its memory; movable.
class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(Shape shape, DType dtype);

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype_); }
  std::byte* data() const { return buffer_.data(); }

  template <typename T>
  std::span<T> as() const {
    TRAINYARD_CHECK(DTypeOf<T>::value == dtype_);
    return {reinterpret_cast<T*>(buffer_.data()), static_cast<std::size_t>(elements())};
  }

 private:
  Shape shape_;
  DType dtype_ = DType::f32;
  AlignedBuffer buffer_;
};

}  // namespace trainyard
