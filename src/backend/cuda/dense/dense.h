#pragma once

#include "backend/cuda/runtime/launch_kernel.h"

namespace trainyard::backend::cuda {

// Simple loops that take any sizes; every tensor in its natural layout, no workspace.
void dense_plain(const Launch& at);
void dense_d_src_plain(const Launch& at);
void dense_d_weight_plain(const Launch& at);

// Says to accept() of a dense layer whether its output should lie in padded rows.
Decision want_padded_output(const KernelRequest& request);

}  // namespace trainyard::backend::cuda
