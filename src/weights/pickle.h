#pragma once

#include "weights/tensor.h"

namespace trainyard::weights {

// PickledTensor is a tensor of a state dict: which numbers of which storage.
struct PickledTensor {
  std::string name, storage;
  Element element = Element::f32;
  std::int64_t storage_elements = 0, offset = 0;
  std::vector<std::int64_t> shape, strides;
};

// Reads PyTorch's pickle of a state dict, in its order, alone or as the "state_dict", "model_state_dict" or
// "model" of a dictionary that keeps other things of a training. The interpreter knows only the few opcodes
// and names that such a file needs (an OrderedDict of _rebuild_tensor_v2 of storages, parameters, numbers,
// texts and lists, and the _metadata set at its end) and builds plain values: it imports, calls and executes
// nothing. Throws Error (config), beginning with '`who`', naming the first other opcode or name.
std::vector<PickledTensor> read_pickled_tensors(std::span<const std::byte> pickle, const std::string& who);

}  // namespace trainyard::weights
