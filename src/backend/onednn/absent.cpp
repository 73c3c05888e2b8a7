#include "backend/kernel_level.h"

namespace trainyard::backend {

// Built without oneDNN: "auto" falls back to the reference kernels, "onednn" says that there is none.
std::unique_ptr<Backend> make_onednn_backend() { return nullptr; }
std::optional<CpuIsa> found_cpu_isa() { return std::nullopt; }

const KernelLevel& usable_level() {
  static constexpr KernelLevel kLevel{"native", flat_update_loop, nullptr, nullptr};
  return kLevel;
}

}  // namespace trainyard::backend
