#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard::predict {

// A tensor of a state dict: which numbers of which storage.
struct PickledTensor {
  std::string name, storage;
  std::int64_t storage_elements = 0, offset = 0;
  std::vector<std::int64_t> shape, strides;
};

// What PyTorch's pickle of a state dict says, in its order. A machine of its own that knows the few opcodes
// and names such a file needs (an OrderedDict of _rebuild_tensor_v2 of FloatStorage, and the _metadata set at
// its end) and builds plain values of them: nothing is imported, called or executed. Error (config) begins
// with '`who`' and names the first opcode or name that is another.
std::vector<PickledTensor> read_pickled_tensors(std::span<const std::byte> pickle, const std::string& who);

}  // namespace trainyard::predict
