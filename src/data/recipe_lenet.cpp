// TF-slim's LeNet preprocessing: centre crop or zero pad to the wanted size, (x - 128) / 128.
#include "data/recipe.h"

namespace trainyard::data {

constinit const Recipe kLenetRecipe{
    "lenet", same_size, decline_nothing, {.centre = 128.0f, .scale = 1.0f / 128.0f}};

}  // namespace trainyard::data
