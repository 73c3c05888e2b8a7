#pragma once

#include <functional>
#include <memory>

#include "backend/backend.h"

namespace trainyard::predict {

// What is asked of kernels that are not here. Nodes are those of the plan, after what was fused.
struct StandInKernels {
  std::function<bool(const graph::NodeView&)> takes;  // a fused node; unfused ones are always taken
  std::function<double(const graph::NodeView&)> workspace_bytes;
};

// Plans as the backend of a GPU does, without the GPU: images lie channels last, small steps share no memory,
// and what the CUDA kernels write in place is written in place. `memory_bytes` are free; 0: not known.
std::unique_ptr<backend::Backend> make_gpu_stand_in(StandInKernels kernels, double memory_bytes);

}  // namespace trainyard::predict
