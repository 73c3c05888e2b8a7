#pragma once

#include "backend/kernel.h"

namespace trainyard::backend::onednn {

// Convolutions on images of up to four channels: the first layer of a network. The image is plain and small,
// so the few taps per output are broadcast from it one by one while the output channels fill the vectors.
Decision accept_few_channels(const KernelRequest& request);
std::unique_ptr<Kernel> make_few_channels(const KernelRequest& request);
Decision accept_few_channels_d_weight(const KernelRequest& request);
std::unique_ptr<Kernel> make_few_channels_d_weight(const KernelRequest& request);

}  // namespace trainyard::backend::onednn
