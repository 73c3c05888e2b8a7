// TF-slim's LeNet preprocessing: centre crop or zero pad to the wanted size, (x - 128) / 128.
#include "data/recipe.h"

namespace trainyard::data {
namespace {

void evaluate(const Sizes& sizes, const std::uint8_t* image, float* out) {
  const Window window = centre_window(sizes);
  std::int16_t* scratch = window_scratch(window.pixels());
  for (std::int64_t channel = 0; channel < sizes.input[0]; ++channel) {
    copy_window(image + channel * sizes.input.elements_from(1), window, scratch);
    map_pixels(scratch, window.pixels(), 128.0f, 1.0f / 128.0f, out + channel * window.pixels());
  }
}

void train(const Sizes& sizes, const std::uint8_t* image, const Philox::Block&, float* out) {
  evaluate(sizes, image, out);
}

}  // namespace

constinit const Recipe kLenetRecipe{"lenet", same_size, decline_nothing, train, evaluate};

}  // namespace trainyard::data
