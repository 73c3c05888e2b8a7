#pragma once

#include <cstddef>

namespace trainyard::backend::cuda {

// Page-locked memory of the host, which the GPU reaches by itself; zeroed.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes);  // Error (device) "out of memory" with the bytes asked and free
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

}  // namespace trainyard::backend::cuda
