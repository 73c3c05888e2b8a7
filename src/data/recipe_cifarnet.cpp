// TensorFlow's CIFAR-10 tutorial: random 24x24 crop, flip, brightness, contrast, standardise;
// evaluation takes the central crop.
#include <fmt/core.h>

#include "data/recipe.h"

namespace trainyard::data {
namespace {

constexpr std::int64_t kCrop = 24;

Shape default_output(const Shape& input) { return {input[0], kCrop, kCrop}; }

std::string decline(const Sizes& sizes) {
  if (sizes.output[1] <= sizes.input[1] && sizes.output[2] <= sizes.input[2]) return "";
  return fmt::format("it crops, so at most {}x{}x{} is allowed", sizes.input[0], sizes.input[1],
                     sizes.input[2]);
}

}  // namespace

constinit const Recipe kCifarnetRecipe{
    "cifarnet",
    default_output,
    decline,
    {.place = ImageRecipe::Place::random, .standardise = true, .random_contrast = true}};

}  // namespace trainyard::data
