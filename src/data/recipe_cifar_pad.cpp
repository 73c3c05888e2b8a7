// TF-slim's CifarNet preprocessing: pad by 4 zeros, random crop back, flip, brightness, contrast,
// standardise.
#include "data/recipe.h"

namespace trainyard::data {

constinit const Recipe kCifarPadRecipe{
    "cifar-pad",
    same_size,
    decline_other_sizes,
    {.place = ImageRecipe::Place::random, .padding = 4, .standardise = true, .random_contrast = true}};

}  // namespace trainyard::data
