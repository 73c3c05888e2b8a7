#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace trainyard {

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
