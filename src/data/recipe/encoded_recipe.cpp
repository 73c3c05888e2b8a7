#include "data/recipe/encoded_recipe.h"

#include <vector>

#include "base/philox.h"
#include "data/decode/decode.h"
#include "data/recipe/recipe.h"
#include "data/recipe/registry.h"

namespace trainyard::data {

namespace {

// The bytes of an image between decoding and floats; every thread keeps its own.
std::uint8_t* byte_scratch(std::int64_t bytes) {
  thread_local std::vector<std::uint8_t> scratch;
  if (std::ssize(scratch) < bytes) scratch.resize(static_cast<std::size_t>(bytes));
  return scratch.data();
}

}  // namespace

EncodedRecipe::EncodedRecipe(const Preprocess& preprocess) : output_(preprocess.output) {
  const RecipeInfo& recipe = find_recipe(preprocess.name, SampleKind::encoded);
  check_image_output(preprocess.name, output_);
  if (recipe.of_encoded != nullptr)
    preprocessor_ = recipe.of_encoded({.name = recipe.name, .output = output_});
  else
    augment_.emplace(preprocess, recipe.of_pixels->wanted_input(output_));
}

void EncodedRecipe::train(std::span<const std::byte> encoded, std::uint64_t seed, std::int64_t position,
                          float* out) const {
  if (augment_) return augment_->train(planes_of(encoded), image_draws(seed, position), out);
  std::uint8_t* bytes = byte_scratch(preprocessor_->sample_bytes());
  constexpr std::uint64_t kStream = stream_of("encoded images");
  preprocessor_->train(encoded, mix_streams(mix_streams(kStream, seed), static_cast<std::uint64_t>(position)),
                       bytes);
  preprocessor_->normalise(bytes, out);
}

void EncodedRecipe::evaluate(std::span<const std::byte> encoded, float* out) const {
  if (augment_) return augment_->evaluate(planes_of(encoded), out);
  std::uint8_t* bytes = byte_scratch(preprocessor_->sample_bytes());
  preprocessor_->evaluate(encoded, bytes);
  preprocessor_->normalise(bytes, out);
}

// Decodes to the size that the recipe wants, (C, H, W).
const std::uint8_t* EncodedRecipe::planes_of(std::span<const std::byte> encoded) const {
  const Shape& size = augment_->input();
  const std::int64_t channels = size[0], pixels = size[1] * size[2];
  std::uint8_t* planes = byte_scratch(2 * size.elements());
  const auto image = open_image(encoded);
  if (channels == 1) {
    decode_resized(*image, image->whole(), channels, {size[2], size[1]}, planes);
    return planes;
  }
  const std::uint8_t* interleaved = planes + size.elements();
  decode_resized(*image, image->whole(), channels, {size[2], size[1]}, planes + size.elements());
  for (std::int64_t i = 0; i < pixels; ++i)
    for (std::int64_t channel = 0; channel < channels; ++channel)
      planes[channel * pixels + i] = interleaved[i * channels + channel];
  return planes;
}

}  // namespace trainyard::data
