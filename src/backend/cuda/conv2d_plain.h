#pragma once

#include "backend/cuda/launch_kernel.h"

namespace trainyard::backend::cuda {

// Simple loops that take any attributes; every tensor in its natural layout. With a pool, the workspace
// holds what lies between it and the convolution.
void conv2d_plain(const Launch& at);
void conv2d_d_src_plain(const Launch& at);
void conv2d_d_weight_plain(const Launch& at);
void conv2d_max_pool_plain(const Launch& at);
void conv2d_max_pool_d_weight_plain(const Launch& at);

}  // namespace trainyard::backend::cuda
