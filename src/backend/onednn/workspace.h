#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::backend::onednn {

// Parts of a kernel's workspace, in the order in which they were added; each begins on a cache line.
class Workspace {
 public:
  std::size_t add_floats(std::int64_t count) { return add(static_cast<std::size_t>(count) * sizeof(float)); }
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace trainyard::backend::onednn
