// TF-slim's CifarNet preprocessing: pad by 4 zeros, random crop back, flip, brightness, contrast,
// standardise.
#include "data/standardise.h"

namespace trainyard::data {
namespace {

constexpr std::int64_t kPadding = 4;

void train(const Sizes& sizes, const std::uint8_t* image, const Philox::Block& draws, float* out) {
  standardise_window(sizes, image, random_window(sizes, kPadding, draws), random_contrast(draws), out);
}

void evaluate(const Sizes& sizes, const std::uint8_t* image, float* out) {
  standardise_window(sizes, image, centre_window(sizes), 1.0f, out);
}

}  // namespace

constinit const Recipe kCifarPadRecipe{"cifar-pad", same_size, decline_other_sizes, train, evaluate};

}  // namespace trainyard::data
