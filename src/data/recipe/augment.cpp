#include "data/recipe/augment.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "data/recipe/recipe.h"
#include "data/recipe/registry.h"

namespace trainyard::data {

namespace {

bool is_image(const Shape& shape) {
  return shape.rank() == 3 &&
         std::all_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim > 0; });
}

PlaneSize plane_of(const Shape& image) { return {image[1], image[2]}; }

}  // namespace

Augment::Augment(const Preprocess& preprocess, const Shape& input)
    : recipe_(find_recipe(preprocess.name, SampleKind::pixels).of_pixels),
      input_(input),
      output_(preprocess.output) {
  TRAINYARD_CHECK(is_image(input));
  if (output_.rank() == 0) output_ = recipe_->default_output(input);
  std::string reason;
  if (!is_image(output_))
    reason = "three sizes (channels, height, width) are expected";
  else if (output_[0] != input[0])
    reason = fmt::format("it keeps the {} channels", input[0]);
  else
    reason = recipe_->decline({input_, output_});
  if (!reason.empty())
    fail(ErrorKind::config, "preprocessing '{}': {} cannot be made of images of {}: {}", preprocess.name,
         output_.to_string(), input.to_string(), reason);
}

const ImageRecipe& Augment::recipe() const { return recipe_->how; }

void Augment::train(const std::uint8_t* image, const Philox::Block& draws, float* out) const {
  apply_recipe(recipe(), {input_, output_},
               training_place(recipe(), plane_of(input_), plane_of(output_), draws),
               training_contrast(recipe(), draws), image, out);
}

void Augment::evaluate(const std::uint8_t* image, float* out) const {
  apply_recipe(recipe(), {input_, output_}, centre_place(plane_of(input_), plane_of(output_)), 1.0f, image,
               out);
}

}  // namespace trainyard::data
