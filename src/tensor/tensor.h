#pragma once

#include <initializer_list>

#include "base/error.h"
#include "tensor/dtype.h"

namespace trainyard {

// Dimensions in logical order: images are (batch, channel, row, column), convolution weights (output channel,
// input channel of the group, row, column). The physical order is a Layout's business.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);
  // Parses the text that to_string() makes. Error (config).
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

// A HostTensor is a tensor in host memory, plain layout, zero-initialised. Owns its memory; movable.
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
