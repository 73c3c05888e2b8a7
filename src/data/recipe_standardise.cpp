// Centre crop or zero pad to the wanted size, then standardise per image.
#include "data/recipe.h"

namespace trainyard::data {

constinit const Recipe kStandardiseRecipe{"standardise", same_size, decline_nothing, {.standardise = true}};

}  // namespace trainyard::data
