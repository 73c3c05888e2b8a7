#pragma once

#include <functional>
#include <memory>

#include "backend/backend.h"

namespace trainyard::predict {

// StandInKernels answers for kernels that this machine does not have. Nodes are those of the plan, after
// fusion.
struct StandInKernels {
  std::function<bool(const graph::NodeView&)> takes;  // a fused node; unfused ones are always taken
  std::function<double(const graph::NodeView&)> workspace_bytes;
};

// Plans as the backend of a GPU does, without the GPU: images lie channels last, small steps share no memory,
// and outputs that the CUDA kernels write in place are written in place. `memory_bytes` are free; 0: not
// known.
std::unique_ptr<backend::Backend> make_gpu_stand_in(StandInKernels kernels, double memory_bytes);

}  // namespace trainyard::predict
