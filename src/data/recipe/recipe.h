#pragma once

#include <string>

#include "tensor/image_recipe.h"
#include "tensor/tensor.h"

namespace trainyard::data {

struct Sizes {
  Shape input, output;  // C, H, W
};

// A recipe is a row of the list in augment.cpp; recipe.cpp defines all of them.
struct Recipe {
  const char* name;
  Shape (*default_output)(const Shape& input);
  // Why `output` cannot be reached, as the end of a sentence; "" when it can. Channels already agree.
  std::string (*decline)(const Sizes& sizes);
  ImageRecipe how;
};

extern const Recipe kUnitRecipe, kCifarnetRecipe, kCifarPadRecipe, kCifarFlipRecipe, kLenetRecipe,
    kStandardiseRecipe;

Shape same_size(const Shape& input);
std::string decline_nothing(const Sizes& sizes);
std::string decline_other_sizes(const Sizes& sizes);

// One image of bytes to floats.
void apply_recipe(const ImageRecipe& recipe, const Sizes& sizes, const ImagePlace& place, float contrast,
                  const std::uint8_t* image, float* out);

}  // namespace trainyard::data
