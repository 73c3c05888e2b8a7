#pragma once

#include "weights/tensor.h"

namespace trainyard::weights {

// Returns the tensors of a PyTorch state dict in zip format (torch.save since 1.6), in its order. It executes
// nothing of the file. Throws Error (config), beginning with the file's name, for a file that is damaged,
// compressed or of the older format, a pickle other than a state dict of tensors, or a tensor beyond its
// storage.
std::vector<Tensor> parse_state_dict(std::span<const std::byte> file, const std::string& who);

}  // namespace trainyard::weights
