// x / 255, as DeepMNIST takes its images.
#include "data/recipe.h"

namespace trainyard::data {
namespace {

void evaluate(const Sizes& sizes, const std::uint8_t* image, float* out) {
  const Window whole{1, sizes.input.elements(), 0, 0, 1, sizes.input.elements(), false};
  map_window(image, whole, 0.0f, 1.0f / 255.0f, out);
}

void train(const Sizes& sizes, const std::uint8_t* image, const Philox::Block&, float* out) {
  evaluate(sizes, image, out);
}

}  // namespace

constinit const Recipe kUnitRecipe{"unit", same_size, decline_other_sizes, train, evaluate};

}  // namespace trainyard::data
