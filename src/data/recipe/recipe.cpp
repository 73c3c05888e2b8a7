#include "data/recipe/recipe.h"

#include <fmt/core.h>

#include "data/recipe/window.h"

namespace trainyard::data {

namespace {

void standardise(const Window& window, std::int64_t channels, float contrast, const std::uint8_t* image,
                 float* out) {
  const std::int64_t plane = window.plane_height * window.plane_width, count = window.pixels();
  std::int16_t* scratch = window_scratch(channels * count);
  WindowSums total;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    copy_window(image + channel * plane, window, scratch + channel * count);
    const PixelSums sums = sum_pixels(scratch + channel * count, count);
    const auto channel_sum = static_cast<double>(sums.sum);
    total.sum += channel_sum;
    total.squares += static_cast<double>(sums.squares);
    total.squared_sums += channel_sum * channel_sum;
  }
  const StandardMap<double> map(total, channels, count, contrast);
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const std::int16_t* from = scratch + channel * count;
    // Summing again is cheaper than keeping room for the sums of any number of channels.
    const double channel_sum = contrast == 1 ? 0 : static_cast<double>(sum_pixels(from, count).sum);
    map_pixels(from, count, map.centre(channel_sum), map.scale, out + channel * count);
  }
}

}  // namespace

Shape same_size(const Shape& input) { return input; }

std::string decline_nothing(const Sizes&) { return ""; }

std::string decline_other_sizes(const Sizes& sizes) {
  return sizes.output == sizes.input ? "" : "it keeps the size";
}

void apply_recipe(const ImageRecipe& recipe, const Sizes& sizes, const ImagePlace& place, float contrast,
                  const std::uint8_t* image, float* out) {
  const Window window{sizes.input[1],  sizes.input[2],  place.top, place.left,
                      sizes.output[1], sizes.output[2], place.flip};
  const std::int64_t channels = sizes.input[0];
  if (recipe.standardise) return standardise(window, channels, contrast, image, out);
  if (window.covers_plane())
    return map_pixels(image, sizes.input.elements(), recipe.centre, recipe.scale, out);
  std::int16_t* scratch = window_scratch(window.pixels());
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    copy_window(image + channel * sizes.input.elements_from(1), window, scratch);
    map_pixels(scratch, window.pixels(), recipe.centre, recipe.scale, out + channel * window.pixels());
  }
}

// The usual ResNet recipe for CIFAR: pad by 4 zeros, random crop back, flip, standardise.

constinit const Recipe kCifarFlipRecipe{
    same_size,
    same_size,
    decline_other_sizes,
    {.place = ImageRecipe::Place::random, .padding = 4, .standardise = true}};

// TF-slim's CifarNet preprocessing: pad by 4 zeros, random crop back, flip, brightness, contrast,
// standardise.

constinit const Recipe kCifarPadRecipe{
    same_size,
    same_size,
    decline_other_sizes,
    {.place = ImageRecipe::Place::random, .padding = 4, .standardise = true, .random_contrast = true}};

// TensorFlow's CIFAR-10 tutorial: random 24x24 crop, flip, brightness, contrast, standardise;
// evaluation takes the central crop.

namespace {

constexpr std::int64_t kCrop = 24;

Shape default_output(const Shape& input) { return {input[0], kCrop, kCrop}; }

// As much larger as CIFAR's images are.
Shape uncropped(const Shape& output) {
  constexpr std::int64_t kSide = 32;
  const auto scaled = [](std::int64_t side) { return (side * kSide + kCrop / 2) / kCrop; };
  return {output[0], scaled(output[1]), scaled(output[2])};
}

std::string decline(const Sizes& sizes) {
  if (sizes.output[1] <= sizes.input[1] && sizes.output[2] <= sizes.input[2]) return "";
  return fmt::format("it crops, so at most {}x{}x{} is allowed", sizes.input[0], sizes.input[1],
                     sizes.input[2]);
}

}  // namespace

constinit const Recipe kCifarnetRecipe{
    default_output,
    uncropped,
    decline,
    {.place = ImageRecipe::Place::random, .standardise = true, .random_contrast = true}};

// TF-slim's LeNet preprocessing: centre crop or zero pad to the wanted size, (x - 128) / 128.

constinit const Recipe kLenetRecipe{
    same_size, same_size, decline_nothing, {.centre = 128.0f, .scale = 1.0f / 128.0f}};

// Centre crop or zero pad to the wanted size, then standardise per image.

constinit const Recipe kStandardiseRecipe{same_size, same_size, decline_nothing, {.standardise = true}};

// x / 255, as DeepMNIST takes its images.

constinit const Recipe kUnitRecipe{same_size, same_size, decline_other_sizes, {.scale = 1.0f / 255.0f}};

}  // namespace trainyard::data
