#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/image_recipe.h"
#include "tensor/tensor.h"

namespace trainyard::data {

struct Recipe;

// Says how bytes become floats: a recipe and the size that the network takes.
struct Preprocess {
  std::string name = "unit";  // of the registry (registry.h)
  Shape output;               // C, h, w; rank 0: what the recipe makes of decoded images by itself
};

// One recipe of decoded images bound to its sizes. Allocates nothing per image; thread-safe.
class Augment {
 public:
  // Error (config) for an unknown name, or for a size that the recipe cannot reach from `input` (C, H, W).
  Augment(const Preprocess& preprocess, const Shape& input);

  const Shape& input() const { return input_; }
  const Shape& output() const { return output_; }
  const ImageRecipe& recipe() const;

  // One image of bytes to floats. All randomness is in `draws`: see image_draws().
  void train(const std::uint8_t* image, const Philox::Block& draws, float* out) const;
  void evaluate(const std::uint8_t* image, float* out) const;

 private:
  const Recipe* recipe_;
  Shape input_, output_;
};

}  // namespace trainyard::data
