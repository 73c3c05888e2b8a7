#pragma once

#include <cuda_runtime_api.h>

namespace trainyard::backend::cuda::device {

// Small fills of a graph, which libraries start as memsets, become kernels: in a graph of several branches
// the driver sets aside about 350 KiB of the GPU for every memset of a few bytes, a hundred times a kernel's
// share.
void fill_by_kernels(cudaGraph_t graph);

}  // namespace trainyard::backend::cuda::device
