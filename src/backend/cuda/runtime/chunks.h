#pragma once

#include <cstdint>

namespace trainyard::backend::cuda::device {

// Many tensors in one launch: each is cut into chunks, and block after block takes one. Both tables lie in
// device memory; a few tensors come with the launch itself, which saves two trips to memory before the first
// load. Tensor has `elements` and `first_chunk`. Kernels take it as const __grid_constant__.
template <typename Tensor>
struct Chunks {
  static constexpr std::uint32_t kFew = 8;

  const Tensor* tensors = nullptr;
  const std::uint32_t* tensor_of = nullptr;  // by chunk
  std::uint32_t count = 0;                   // of chunks
  std::uint32_t few_count = 0;               // of `few`; 0: there are more than that
  Tensor few[kFew] = {};
};

inline constexpr std::int64_t kChunkElements = 2048;

}  // namespace trainyard::backend::cuda::device
