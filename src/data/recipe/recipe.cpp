#include "data/recipe/recipe.h"

#include "base/text.h"
#include "data/decode/decode.h"

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

namespace {

// Returns the bytes of an image between decoding and floats; every thread keeps its own.
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

namespace {

constexpr RecipeInfo kRecipes[] = {
    {"unit", SampleKind::pixels, "divides by 255", &kUnitRecipe},
    {"standardise", SampleKind::pixels, "crops or pads to the centre and standardises each image",
     &kStandardiseRecipe},
    {"lenet", SampleKind::pixels, "crops or pads to the centre; (x - 128) / 128", &kLenetRecipe},
    {"cifarnet", SampleKind::pixels, "takes a random part, flips, changes the contrast, standardises",
     &kCifarnetRecipe},
    {"cifar-pad", SampleKind::pixels, "pads by 4, then does as cifarnet", &kCifarPadRecipe},
    {"cifar-flip", SampleKind::pixels, "pads by 4, takes a random part, flips, standardises",
     &kCifarFlipRecipe},
    {"inception", SampleKind::encoded, "takes a random box, flips, changes the colours; [-1, 1]", nullptr,
     make_inception},
    {"vgg", SampleKind::encoded, "scales, takes a random part, flips; subtracts ImageNet's means", nullptr,
     make_vgg},
    {"cifarnet_slim", SampleKind::encoded, "resizes, pads by 4, takes a random part, flips, standardises",
     nullptr, make_cifarnet_slim},
    {"lenet_slim", SampleKind::encoded, "crops or pads the image as it is; (x - 128) / 128", nullptr,
     make_lenet_slim},
    {"next-token", SampleKind::tokens, "asks each step of a sequence for the token that follows"},
    {"masked-token", SampleKind::tokens, "hides tokens of a sequence, and asks for them"},
};

std::vector<std::string> names_taking(SampleKind samples) {
  std::vector<std::string> names;
  for (const RecipeInfo& recipe : kRecipes)
    if (recipe.takes == samples) names.emplace_back(recipe.name);
  return names;
}

}  // namespace

std::span<const RecipeInfo> all_recipes() { return kRecipes; }

const std::vector<std::string>& recipe_names(SampleKind takes) {
  static const std::vector<std::string> pixels = names_taking(SampleKind::pixels),
                                        encoded = names_taking(SampleKind::encoded),
                                        tokens = names_taking(SampleKind::tokens);
  return takes == SampleKind::pixels ? pixels : takes == SampleKind::encoded ? encoded : tokens;
}

const RecipeInfo& find_recipe(const std::string& name, SampleKind samples) {
  std::vector<std::string> names = recipe_names(samples);
  if (samples == SampleKind::encoded) {
    const std::vector<std::string>& resized = recipe_names(SampleKind::pixels);
    names.insert(names.end(), resized.begin(), resized.end());
  }
  for (const RecipeInfo& recipe : kRecipes) {
    if (name != recipe.name) continue;
    if (recipe.takes == samples || (samples == SampleKind::encoded && recipe.takes == SampleKind::pixels))
      return recipe;
    fail(ErrorKind::config, "preprocessing '{}' takes {}, and the data set has {}: one of {} expected", name,
         data::name(recipe.takes), data::name(samples), joined(names, ", "));
  }
  fail(ErrorKind::config, "unknown preprocessing '{}'{}, one of {} expected", name, did_you_mean(name, names),
       joined(names, ", "));
}

std::optional<std::string> renamed_recipe(const std::string& name) {
  if (name == "cifarnet") return "cifarnet_slim";
  if (name == "lenet") return "lenet_slim";
  return std::nullopt;
}

}  // namespace trainyard::data
