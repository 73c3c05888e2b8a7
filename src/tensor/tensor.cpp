#include "tensor/tensor.h"

#include <charconv>
#include <cstdlib>

#include "base/text.h"

namespace trainyard {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

const char* name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::u8:
      return "u8";
    case DType::bf16:
      return "bf16";
  }
  return "?";
}

Shape::Shape(std::initializer_list<std::int64_t> dims) {
  for (const std::int64_t dim : dims) append(dim);
}

Shape Shape::parse(std::string_view text) {
  Shape shape;
  if (text == "scalar") return shape;
  const char *at = text.data(), *const end = at + text.size();
  while (shape.rank() < kMaxRank) {
    std::int64_t dim = 0;
    const auto [rest, problem] = std::from_chars(at, end, dim);
    if (problem != std::errc() || dim < 0) break;
    shape.append(dim);
    if (rest == end) return shape;
    if (*rest != 'x') break;
    at = rest + 1;
  }
  fail(ErrorKind::config, "shape '{}': wants up to {} sizes as in 128x3x24x24, or scalar", text, kMaxRank);
}

void Shape::append(std::int64_t dim) {
  TRAINYARD_CHECK(rank_ < kMaxRank);
  dims_[static_cast<std::size_t>(rank_++)] = dim;
}

std::int64_t Shape::elements() const { return elements_from(0); }

std::int64_t Shape::elements_from(int axis) const {
  std::int64_t count = 1;
  for (int i = axis; i < rank_; ++i) count *= (*this)[i];
  return count;
}

std::string Shape::to_string() const { return rank_ == 0 ? "scalar" : joined(*this, "x"); }

bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

AlignedBuffer::AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, align_up(bytes))));
  if (memory_ == nullptr) fail(ErrorKind::io, "out of memory: {} bytes asked", bytes);
}

void AlignedBuffer::Free::operator()(std::byte* memory) const { std::free(memory); }

HostTensor::HostTensor(Shape shape, DType dtype)
    : shape_(shape), dtype_(dtype), buffer_(static_cast<std::size_t>(shape.elements()) * size_of(dtype)) {
  if (bytes() > 0) std::memset(buffer_.data(), 0, bytes());
}

}  // namespace trainyard
