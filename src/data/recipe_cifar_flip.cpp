// The usual ResNet recipe for CIFAR: pad by 4 zeros, random crop back, flip, standardise.
#include "data/standardise.h"

namespace trainyard::data {
namespace {

constexpr std::int64_t kPadding = 4;

void train(const Sizes& sizes, const std::uint8_t* image, const Philox::Block& draws, float* out) {
  standardise_window(sizes, image, random_window(sizes, kPadding, draws), 1.0f, out);
}

void evaluate(const Sizes& sizes, const std::uint8_t* image, float* out) {
  standardise_window(sizes, image, centre_window(sizes), 1.0f, out);
}

}  // namespace

constinit const Recipe kCifarFlipRecipe{"cifar-flip", same_size, decline_other_sizes, train, evaluate};

}  // namespace trainyard::data
