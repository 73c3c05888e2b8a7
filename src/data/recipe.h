#pragma once

#include <cstdint>
#include <string>

#include "base/philox.h"
#include "data/window.h"
#include "tensor/shape.h"

namespace trainyard::data {

struct Sizes {
  Shape input, output;  // C, H, W
};

// A row of the list in augment.cpp; one file a recipe.
struct Recipe {
  const char* name;
  Shape (*default_output)(const Shape& input);
  // Why `output` cannot be reached, as the end of a sentence; "" when it can. Channels already agree.
  std::string (*decline)(const Sizes& sizes);
  void (*train)(const Sizes& sizes, const std::uint8_t* image, const Philox::Block& draws, float* out);
  void (*evaluate)(const Sizes& sizes, const std::uint8_t* image, float* out);
};

extern const Recipe kUnitRecipe, kCifarnetRecipe, kCifarPadRecipe, kCifarFlipRecipe, kLenetRecipe,
    kStandardiseRecipe;

// Which word of a sample's draws decides what. Brightness has a word of its own though no recipe computes it
// (see standardise_window): then a recipe that clips could be added without changing the others.
enum Draw { kDrawTop, kDrawLeft, kDrawFlipAndBrightness, kDrawContrast };

Shape same_size(const Shape& input);
std::string decline_nothing(const Sizes& sizes);
std::string decline_other_sizes(const Sizes& sizes);

Window centre_window(const Sizes& sizes);  // crops and pads

// Uniform over every place of the output within the image padded by `padding` on all sides; flipped half the
// time.
Window random_window(const Sizes& sizes, std::int64_t padding, const Philox::Block& draws);

}  // namespace trainyard::data
