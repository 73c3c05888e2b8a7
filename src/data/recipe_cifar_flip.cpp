// The usual ResNet recipe for CIFAR: pad by 4 zeros, random crop back, flip, standardise.
#include "data/recipe.h"

namespace trainyard::data {

constinit const Recipe kCifarFlipRecipe{
    "cifar-flip",
    same_size,
    decline_other_sizes,
    {.place = ImageRecipe::Place::random, .padding = 4, .standardise = true}};

}  // namespace trainyard::data
