#pragma once

#include "backend/backend.h"
#include "backend/kernel_level.h"

namespace trainyard::backend::onednn {

// The end of a process that computed with the instructions `most` and below ("": all that the processor
// announces), and the best of them, which is what oneDNN took.
struct IsaTrial {
  int exit_code = 0;  // 128 + signal
  std::string best;
};

// Returns the best instructions with which a trial ends well: each that fails makes the next lower the most
// that the next trial may use. Error (unsupported) when even the lowest fail.
CpuIsa find_usable_isa(const std::function<IsaTrial(const std::string& most)>& attempt);

// Returns the level of own kernels that needs no more than these instructions. native_level.cpp and
// portable_levels.cpp define it.
const KernelLevel& level_of(const std::string& isa);

// Finds them for this machine, once, and keeps oneDNN from better ones. The trials run in forked copies of
// this process; processes that this one starts on the same machine take over what was found, through the
// environment. Must come before anything else of oneDNN. A user's ONEDNN_MAX_CPU_ISA is where trials begin.
//
// TRAINYARD_FAULTY_ISA=NAME makes trials with the instructions NAME and better die, as on a machine that has
// them and does not run them.
void limit_to_usable_isa();

}  // namespace trainyard::backend::onednn
