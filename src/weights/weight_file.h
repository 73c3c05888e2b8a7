#pragma once

#include "base/file.h"
#include "weights/tensor.h"

namespace trainyard::weights {

// The formats, by the end of a file's name.
enum class Format : std::uint8_t { safetensors, state_dict };

// .safetensors; .pt, .pth, .pkl; nothing for any other.
std::optional<Format> format_of(const std::filesystem::path& path);

// A WeightFile is a file of weights that stays mapped, with its tensors, which point into it.
class WeightFile {
 public:
  // Error (config) names the file and what is wrong with it; (usage) when its name says no format.
  explicit WeightFile(const std::filesystem::path& path);

  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  MappedFile file_;
  std::vector<Tensor> tensors_;
};

}  // namespace trainyard::weights
