// Centre crop or zero pad to the wanted size, then standardise per image.
#include "data/standardise.h"

namespace trainyard::data {
namespace {

void evaluate(const Sizes& sizes, const std::uint8_t* image, float* out) {
  standardise_window(sizes, image, centre_window(sizes), 1.0f, out);
}

void train(const Sizes& sizes, const std::uint8_t* image, const Philox::Block&, float* out) {
  evaluate(sizes, image, out);
}

}  // namespace

constinit const Recipe kStandardiseRecipe{"standardise", same_size, decline_nothing, train, evaluate};

}  // namespace trainyard::data
