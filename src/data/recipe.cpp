#include "data/recipe.h"

namespace trainyard::data {
namespace {

std::int64_t scaled(std::uint32_t word, std::int64_t range) {
  return static_cast<std::int64_t>((std::uint64_t{word} * static_cast<std::uint64_t>(range)) >> 32);
}

Window window_at(const Sizes& sizes, std::int64_t top, std::int64_t left, bool flip) {
  return {sizes.input[1], sizes.input[2], top, left, sizes.output[1], sizes.output[2], flip};
}

// Rounded down also when negative: what TensorFlow's crop-or-pad does.
std::int64_t centred(std::int64_t outer, std::int64_t inner) {
  return outer >= inner ? (outer - inner) / 2 : -((inner - outer) / 2);
}

}  // namespace

Shape same_size(const Shape& input) { return input; }

std::string decline_nothing(const Sizes&) { return ""; }

std::string decline_other_sizes(const Sizes& sizes) {
  return sizes.output == sizes.input ? "" : "it keeps the size";
}

Window centre_window(const Sizes& sizes) {
  return window_at(sizes, centred(sizes.input[1], sizes.output[1]), centred(sizes.input[2], sizes.output[2]),
                   false);
}

Window random_window(const Sizes& sizes, std::int64_t padding, const Philox::Block& draws) {
  const std::int64_t tops = sizes.input[1] + 2 * padding - sizes.output[1] + 1;
  const std::int64_t lefts = sizes.input[2] + 2 * padding - sizes.output[2] + 1;
  return window_at(sizes, scaled(draws[kDrawTop], tops) - padding, scaled(draws[kDrawLeft], lefts) - padding,
                   draws[kDrawFlipAndBrightness] >> 31 != 0);
}

}  // namespace trainyard::data
