#include "data/recipe/preprocess.h"

#include <fmt/ranges.h>

#include "base/text.h"
#include "data/recipe/recipe.h"

namespace trainyard::data {

Box random_box(std::int64_t width, std::int64_t height, Draws& draws) {
  constexpr int kTries = 100;
  constexpr double kLeastArea = 0.05, kLeastCovered = 0.1, kLeastAspect = 3.0 / 4, kMostAspect = 4.0 / 3;
  const auto pixels = static_cast<double>(width * height);
  for (int i = 0; i < kTries; ++i) {
    const double area = draws.between(kLeastArea, 1) * pixels;
    const double aspect = draws.between(kLeastAspect, kMostAspect);
    const std::int64_t w = std::llround(std::sqrt(area * aspect)), h = std::llround(std::sqrt(area / aspect));
    if (w < 1 || h < 1 || w > width || h > height || static_cast<double>(w * h) < kLeastCovered * pixels)
      continue;
    const std::int64_t left = draws.below(width - w + 1), top = draws.below(height - h + 1);
    return {static_cast<double>(left), static_cast<double>(top), static_cast<double>(w),
            static_cast<double>(h)};
  }
  return {0, 0, static_cast<double>(width), static_cast<double>(height)};
}

void check_image_output(const std::string& recipe, const Shape& output) {
  constexpr std::int64_t kMaxOutputSide = 4096;
  if (output.rank() != 3 || (output[0] != 1 && output[0] != 3) || output[1] < 1 || output[2] < 1 ||
      output[1] > kMaxOutputSide || output[2] > kMaxOutputSide)
    fail(ErrorKind::config,
         "preprocessing '{}': output {} is not 1 or 3 channels x height x width, sides of 1 to {}", recipe,
         output.to_string(), kMaxOutputSide);
}

void Preprocessor::normalise(const std::uint8_t* pixels, float* out) const {
  to_planes(pixels, channels(), width() * height(), pixel_map(), out);
}

std::unique_ptr<const Preprocessor> make_preprocessor(const PreprocessOptions& options) {
  const std::string wanted = renamed_recipe(options.name).value_or(options.name);
  for (const RecipeInfo& recipe : all_recipes())
    if (wanted == recipe.name && recipe.of_encoded != nullptr) {
      check_image_output(options.name, options.output);
      return recipe.of_encoded(options);
    }
  fail(ErrorKind::config, "no preprocessing of images is called '{}'; there are: {}", options.name,
       joined(recipe_names(SampleKind::encoded), ", "));
}

}  // namespace trainyard::data
