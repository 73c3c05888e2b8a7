#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace trainyard::backend::cuda::device {

// dst consists of lines, and each part has a piece of every line.
struct ConcatParts {
  struct Part {
    const std::byte* src;
    std::int64_t bytes, offset;  // of its piece of a line
  };
  static constexpr int kMax = 64;  // they are a kernel's argument

  Part parts[kMax];
  int count = 0;
  std::int64_t lines = 0, line_bytes = 0;
};

void concat(cudaStream_t stream, const ConcatParts& parts, std::byte* dst);

}  // namespace trainyard::backend::cuda::device
