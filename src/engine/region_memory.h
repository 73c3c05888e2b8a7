#pragma once

#include <cstddef>

namespace trainyard::engine {

// Zeroed pages from the system, in huge pages where the system grants them. Movable, frees on destruction.
class RegionMemory {
 public:
  RegionMemory() = default;
  // Error (io) "out of memory" says how much was asked.
  explicit RegionMemory(std::size_t bytes);
  ~RegionMemory();
  RegionMemory(RegionMemory&& other) noexcept;
  RegionMemory& operator=(RegionMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0, mapped_bytes_ = 0;
};

}  // namespace trainyard::engine
