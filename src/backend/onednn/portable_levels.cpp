// A build for any machine of the x86-64-v2 kind and better: three levels, of which the machine's instructions
// choose.
#include "backend/onednn/runtime/isa_check.h"

extern "C" {
extern const trainyard::backend::KernelLevel trainyard_level_base, trainyard_level_v3, trainyard_level_v4;
}

namespace trainyard::backend {

// The processor must announce all instructions of a level, and a process that ran them must have ended well:
// limit_to_usable_isa() sees to the second.
const KernelLevel& onednn::level_of(const std::string& isa) {
  const bool v4 = isa.starts_with("AVX512") || isa == "ALL", v3 = v4 || isa.starts_with("AVX2");
  if (v4 && __builtin_cpu_supports("x86-64-v4")) return trainyard_level_v4;
  if (v3 && __builtin_cpu_supports("x86-64-v3")) return trainyard_level_v3;
  return trainyard_level_base;
}

const KernelLevel& usable_level() {
  static const KernelLevel& level = []() -> const KernelLevel& {
    onednn::limit_to_usable_isa();
    return onednn::level_of(found_cpu_isa()->name);
  }();
  return level;
}

}  // namespace trainyard::backend
