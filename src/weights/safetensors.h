#pragma once

#include "weights/tensor.h"

namespace trainyard::weights {

// Returns the tensors of a safetensors file, in the order of their bytes: eight bytes with the length of a
// JSON object of names, types, shapes and places, the object, the numbers. Error (config), beginning with
// '`who`', for a file that is damaged or cut short, a type that is no Element, and for tensors that overlap,
// leave bytes out or reach beyond the file.
std::vector<Tensor> parse_safetensors(std::span<const std::byte> file, const std::string& who);

// OutgoingTensor is a tensor to write.
struct OutgoingTensor {
  std::string name;
  Element element = Element::f32;
  std::vector<std::int64_t> dims;
  std::function<std::vector<std::byte>()> content;  // in plain order
};

// Writes such a file piece by piece; `about` becomes its __metadata__.
void write_safetensors(const std::vector<OutgoingTensor>& tensors,
                       const std::map<std::string, std::string>& about,
                       const std::function<void(std::string_view)>& write);

}  // namespace trainyard::weights
