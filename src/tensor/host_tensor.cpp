#include "tensor/host_tensor.h"

#include <cstdlib>
#include <cstring>

namespace trainyard {

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
