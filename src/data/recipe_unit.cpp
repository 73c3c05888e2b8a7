// x / 255, as DeepMNIST takes its images.
#include "data/recipe.h"

namespace trainyard::data {

constinit const Recipe kUnitRecipe{"unit", same_size, decline_other_sizes, {.scale = 1.0f / 255.0f}};

}  // namespace trainyard::data
