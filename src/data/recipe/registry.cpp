#include "data/recipe/registry.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest_name.h"
#include "data/recipe/preprocess.h"
#include "data/recipe/recipe.h"

namespace trainyard::data {

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
         data::name(recipe.takes), data::name(samples), fmt::join(names, ", "));
  }
  fail(ErrorKind::config, "unknown preprocessing '{}'{}, one of {} expected", name, did_you_mean(name, names),
       fmt::join(names, ", "));
}

std::optional<std::string> renamed_recipe(const std::string& name) {
  if (name == "cifarnet") return "cifarnet_slim";
  if (name == "lenet") return "lenet_slim";
  return std::nullopt;
}

}  // namespace trainyard::data
