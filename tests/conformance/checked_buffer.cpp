#include "checked_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace trainyard::conformance {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};

}  // namespace

CheckedBuffer::CheckedBuffer(graph::TensorType type, Layout layout)
    : type_(type),
      layout_(std::move(layout)),
      bytes_(static_cast<std::size_t>(layout_.elements(type.shape)) * size_of(type.dtype)),
      memory_(align_up(bytes_) + kGuardBytes) {
  std::memset(data(), 0xFF, bytes_);                           // a quiet NaN in f32 and f64
  std::memset(data() + bytes_, 0, align_up(bytes_) - bytes_);  // the tail that belongs to the buffer
  std::memset(data() + align_up(bytes_), static_cast<int>(kGuard), kGuardBytes);
}

bool CheckedBuffer::guard_intact() const {
  const std::byte *tail = data() + bytes_, *guard = data() + align_up(bytes_);
  return std::all_of(tail, guard, [](std::byte b) { return b == std::byte{0}; }) &&
         std::all_of(guard, guard + kGuardBytes, [](std::byte b) { return b == kGuard; });
}

bool CheckedBuffer::padding_is_zero() const {
  if (!layout_.pads(type_.shape)) return true;
  const std::size_t element = size_of(type_.dtype);
  std::vector<bool> logical(bytes_ / element, false);
  const LayoutIndex index(layout_, type_.shape);
  for (std::int64_t i = 0; i < type_.shape.elements(); ++i)
    logical[static_cast<std::size_t>(index.offset_of(i))] = true;
  for (std::size_t i = 0; i < logical.size(); ++i)
    if (!logical[i] && std::any_of(data() + i * element, data() + (i + 1) * element,
                                   [](std::byte b) { return b != std::byte{0}; }))
      return false;
  return true;
}

bool CheckedBuffer::same_bytes(const CheckedBuffer& other) const {
  return bytes_ == other.bytes_ && std::memcmp(data(), other.data(), bytes_) == 0;
}

CheckedBuffer CheckedBuffer::copy() const {
  CheckedBuffer twin(type_, layout_);
  std::memcpy(twin.data(), data(), bytes_);
  return twin;
}

}  // namespace trainyard::conformance
