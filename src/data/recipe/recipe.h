#pragma once

#include "data/recipe/augment.h"
#include "data/recipe/preprocess.h"
#include "data/source/sample_source.h"
#include "tensor/image_recipe.h"
#include "tensor/tensor.h"

namespace trainyard::data {

struct Sizes {
  Shape input, output;  // C, H, W
};

// A recipe of decoded images; recipe.cpp defines all of them, and registry.cpp has their names.
struct Recipe {
  Shape (*default_output)(const Shape& input);
  Shape (*wanted_input)(const Shape& output);  // the size to which encoded images are resized
  // Returns the reason why `output` cannot be reached, as the end of a sentence; "" when it can. Channels
  // already agree.
  std::string (*decline)(const Sizes& sizes);
  ImageRecipe how;
};

extern const Recipe kUnitRecipe, kCifarnetRecipe, kCifarPadRecipe, kCifarFlipRecipe, kLenetRecipe,
    kStandardiseRecipe;

Shape same_size(const Shape& input);
std::string decline_nothing(const Sizes& sizes);
std::string decline_other_sizes(const Sizes& sizes);

// One image of bytes to floats.
void apply_recipe(const ImageRecipe& recipe, const Sizes& sizes, const ImagePlace& place, float contrast,
                  const std::uint8_t* image, float* out);

// An EncodedRecipe is one recipe bound to the size of a network's input, for JPEGs and PNGs of any size. A
// recipe for decoded images gets them resized to the size that it wants; where they have that size already,
// the floats are those of the decoded image, bit for bit. Thread-safe.
class EncodedRecipe {
 public:
  // Error (config) for an unknown name, or an output that no encoded image can become.
  explicit EncodedRecipe(const Preprocess& preprocess);

  const Shape& output() const { return output_; }  // C, h, w

  // One image to floats. All randomness depends on the run's seed and the position of the sample in its
  // order. Error (config) when the image is damaged.
  void train(std::span<const std::byte> encoded, std::uint64_t seed, std::int64_t position, float* out) const;
  void evaluate(std::span<const std::byte> encoded, float* out) const;

 private:
  const std::uint8_t* planes_of(std::span<const std::byte> encoded) const;

  Shape output_;
  std::unique_ptr<const Preprocessor> preprocessor_;  // null: the recipe is for decoded images
  std::optional<Augment> augment_;
};

struct Recipe;
struct PreprocessOptions;
class Preprocessor;

// A RecipeInfo is one row of the registry: a name has one meaning, whatever the data set.
struct RecipeInfo {
  const char* name;
  // A recipe for decoded images takes encoded ones too: they are decoded and resized first.
  SampleKind takes;
  const char* about;                  // the end of "It ..."
  const Recipe* of_pixels = nullptr;  // set when it takes decoded images
  std::unique_ptr<const Preprocessor> (*of_encoded)(const PreprocessOptions& options) = nullptr;
};

std::span<const RecipeInfo> all_recipes();

// The names of the recipes that are made for this kind of sample.
const std::vector<std::string>& recipe_names(SampleKind takes);

// Error (config) when there is none of this name, or it does not take such samples.
const RecipeInfo& find_recipe(const std::string& name, SampleKind samples);

// Two recipes of encoded images once had the names of others: returns their present name. Nothing for all
// other names.
std::optional<std::string> renamed_recipe(const std::string& name);

}  // namespace trainyard::data
