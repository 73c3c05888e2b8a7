#include "backend/cuda/pinned_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "backend/cuda/check.h"
#include "base/error.h"
#include "base/units.h"

namespace trainyard::backend::cuda {

PinnedMemory::PinnedMemory(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMallocHost(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail(ErrorKind::device, "cuda: out of memory: {} of page-locked host memory asked, {} free",
         format_bytes(static_cast<std::int64_t>(bytes)),
         format_bytes(std::int64_t{::sysconf(_SC_AVPHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)));
  }
  check(status, "cudaMallocHost");
  data_ = static_cast<std::byte*>(memory);
  std::fill_n(data_, bytes, std::byte{0});
}

PinnedMemory::~PinnedMemory() { cudaFreeHost(data_); }

}  // namespace trainyard::backend::cuda
