// x / 255, as DeepMNIST takes its images.
#include "data/recipe.h"

namespace trainyard::data {
namespace {

void evaluate(const Sizes& sizes, const std::uint8_t* image, float* out) {
  const std::int64_t count = sizes.input.elements();
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(image[i]) * (1.0f / 255.0f);
}

void train(const Sizes& sizes, const std::uint8_t* image, const Philox::Block&, float* out) {
  evaluate(sizes, image, out);
}

}  // namespace

constinit const Recipe kUnitRecipe{"unit", same_size, decline_other_sizes, train, evaluate};

}  // namespace trainyard::data
