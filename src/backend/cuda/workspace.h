#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::backend::cuda {

// Libraries want their workspace on more than the 64 bytes of our buffers: more is booked, then aligned.
inline constexpr std::size_t kWorkspaceAlignment = 256;

constexpr std::size_t with_slack(std::size_t bytes) { return bytes == 0 ? 0 : bytes + kWorkspaceAlignment; }

inline std::byte* aligned_workspace(std::byte* workspace) {
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  return workspace + (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
}

}  // namespace trainyard::backend::cuda
