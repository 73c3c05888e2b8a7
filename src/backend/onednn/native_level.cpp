// A build for the machine that it runs on: one level.
#include "backend/onednn/runtime/isa_check.h"

extern "C" const trainyard::backend::KernelLevel trainyard_level_base;

namespace trainyard::backend {

const KernelLevel& onednn::level_of(const std::string&) { return trainyard_level_base; }

const KernelLevel& usable_level() { return trainyard_level_base; }

}  // namespace trainyard::backend
