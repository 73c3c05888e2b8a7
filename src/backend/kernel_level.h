#pragma once

#include "backend/backend.h"
#include "backend/flat_update.h"

namespace trainyard::backend {

// KernelLevel holds the CPU kernels of this program, built for one set of instructions. A build for its own
// machine has one level; a portable build has several, and usable_level() chooses
// (docs/adr/0037-a-library-and-a-portable-build.md).
struct KernelLevel {
  const char* name;  // "native", "x86-64-v4"
  FlatUpdate::Loop (*flat_update)(const ops::UpdateAttrs& attrs);
  std::unique_ptr<Backend> (*make_onednn)();  // null: the build has no oneDNN
  bool (*product_is_right)();  // runs the instructions; on a machine without them, it ends the process
};

// Returns the best level that this machine really runs: the level of found_cpu_isa(), which a portable build
// finds out with the first call.
const KernelLevel& usable_level();

}  // namespace trainyard::backend
