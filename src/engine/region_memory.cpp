#include "engine/region_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace trainyard::engine {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

RegionMemory::RegionMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  mapped_bytes_ = (bytes + 4095) / 4096 * 4096;
  const bool huge = bytes >= kHugePage;
  // The kernel aligns large anonymous mappings by itself only in newer versions: ask for room to align in.
  const std::size_t asked = mapped_bytes_ + (huge ? kHugePage : 0);
  void* mapping =
      ::mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    fail(ErrorKind::device, "out of memory: {} asked for one region of the plan",
         format_bytes(static_cast<std::int64_t>(bytes)));
  data_ = static_cast<std::byte*>(mapping);
  if (!huge) return;
  const std::size_t skip = (kHugePage - reinterpret_cast<std::uintptr_t>(data_) % kHugePage) % kHugePage;
  if (skip > 0) ::munmap(data_, skip);
  if (skip < kHugePage) ::munmap(data_ + skip + mapped_bytes_, kHugePage - skip);
  data_ += skip;
  ::madvise(data_, mapped_bytes_, MADV_HUGEPAGE);
}

RegionMemory::~RegionMemory() {
  if (data_ != nullptr) ::munmap(data_, mapped_bytes_);
}

RegionMemory::RegionMemory(RegionMemory&& other) noexcept { *this = std::move(other); }

RegionMemory& RegionMemory::operator=(RegionMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

}  // namespace trainyard::engine
