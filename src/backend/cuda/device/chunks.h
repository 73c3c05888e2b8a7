#pragma once

#include <cstdint>

namespace trainyard::backend::cuda::device {

// Many tensors in one launch: each is cut into chunks, and block after block takes one. Both tables lie in
// device memory. Tensor has `elements` and `first_chunk`.
template <typename Tensor>
struct Chunks {
  const Tensor* tensors = nullptr;
  const std::uint32_t* tensor_of = nullptr;  // by chunk
  std::uint32_t count = 0;                   // of chunks
};

inline constexpr std::int64_t kChunkElements = 2048;

}  // namespace trainyard::backend::cuda::device
