#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/source/sample_source.h"

namespace trainyard::data {

struct Recipe;
struct PreprocessOptions;
class Preprocessor;

// One row of the registry: a name has one meaning, whatever the data set.
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
