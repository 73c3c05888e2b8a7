#pragma once

#include <string>

#include "tensor/image_recipe.h"
#include "tensor/tensor.h"

namespace trainyard::data {

struct Sizes {
  Shape input, output;  // C, H, W
};

// A recipe of decoded images; recipe.cpp defines all of them, and registry.cpp has their names.
struct Recipe {
  Shape (*default_output)(const Shape& input);
  Shape (*wanted_input)(const Shape& output);  // the size to which encoded images are resized
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
