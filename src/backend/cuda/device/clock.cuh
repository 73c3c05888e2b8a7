#pragma once

#include <cstdint>

namespace trainyard::backend::cuda::device {

// By the GPU's global timer, the same for all of it.
__device__ inline std::int64_t global_nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return static_cast<std::int64_t>(now);
}

}  // namespace trainyard::backend::cuda::device
