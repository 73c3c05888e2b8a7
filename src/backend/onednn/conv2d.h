#pragma once

#include "backend/kernel.h"

namespace trainyard::backend::onednn {

// The input gradient of a convolution with stride 1 is itself a convolution: of d_dst with the weights turned
// by half a turn and their channels swapped. oneDNN has much faster forward kernels than gradient kernels for
// channels-last images, which pays for turning the weights in every step.
Decision accept_transposed(const KernelRequest& request);
std::unique_ptr<Kernel> make_transposed(const KernelRequest& request);

}  // namespace trainyard::backend::onednn
