// The description of a recipe, executed pixel by pixel as a GPU does it, makes what Augment makes.

#include "data/recipe/recipe.h"

#include <gtest/gtest.h>

#include "data/recipe/augment.h"

namespace trainyard::data {

namespace {

struct Executor {
  const ImageRecipe& recipe;
  Shape in, out;
  const std::uint8_t* image;
  ImagePlace place;

  int pixel(std::int64_t channel, std::int64_t row, std::int64_t column) const {
    const std::int64_t y = place.top + row, x = place.left + (place.flip ? out[2] - 1 - column : column);
    const bool inside = y >= 0 && y < in[1] && x >= 0 && x < in[2];
    return inside ? image[(channel * in[1] + y) * in[2] + x] : 0;
  }

  std::vector<float> make(float contrast) const {
    WindowSums total;
    std::vector<double> channel_sums;
    for (std::int64_t c = 0; c < out[0]; ++c) {
      std::int64_t sum = 0, squares = 0;
      for (std::int64_t y = 0; y < out[1]; ++y)
        for (std::int64_t x = 0; x < out[2]; ++x) {
          sum += pixel(c, y, x);
          squares += pixel(c, y, x) * pixel(c, y, x);
        }
      channel_sums.push_back(static_cast<double>(sum));
      total.sum += channel_sums.back();
      total.squares += static_cast<double>(squares);
      total.squared_sums += channel_sums.back() * channel_sums.back();
    }
    const StandardMap<double> map(total, out[0], out.elements_from(1), contrast);
    std::vector<float> made;
    for (std::int64_t c = 0; c < out[0]; ++c) {
      const float centre =
          recipe.standardise ? map.centre(channel_sums[static_cast<std::size_t>(c)]) : recipe.centre;
      const float scale = recipe.standardise ? map.scale : recipe.scale;
      for (std::int64_t y = 0; y < out[1]; ++y)
        for (std::int64_t x = 0; x < out[2]; ++x)
          made.push_back((static_cast<float>(pixel(c, y, x)) - centre) * scale);
    }
    return made;
  }
};

// Compilers may round a product and a sum once or twice, so the centre of a channel can differ in its last
// bit.
void expect_near(const std::vector<float>& got, const std::vector<float>& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 2e-6) << what << " at " << i;
}

std::vector<std::uint8_t> image_at(const Shape& shape, std::uint64_t seed) {
  std::vector<std::uint8_t> image(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < image.size(); ++i)
    image[i] = static_cast<std::uint8_t>(Philox(seed, 0).word(i));
  return image;
}

TEST(Recipe, DescriptionMakesWhatAugmentMakes) {
  for (const std::string& name : recipe_names(SampleKind::pixels))
    for (const Shape& in : {Shape{3, 32, 32}, Shape{1, 28, 28}, Shape{2, 27, 33}}) {
      const Augment augment({name, {}}, in);
      const Shape& out = augment.output();
      const PlaneSize from{in[1], in[2]}, to{out[1], out[2]};
      std::vector<float> got(static_cast<std::size_t>(out.elements()));
      for (std::int64_t position = 0; position < 20; ++position) {
        const auto image = image_at(in, static_cast<std::uint64_t>(position));
        const Philox::Block draws = image_draws(7, position);
        const ImageRecipe& recipe = augment.recipe();
        const Executor train{recipe, in, out, image.data(), training_place(recipe, from, to, draws)};
        augment.train(image.data(), draws, got.data());
        expect_near(got, train.make(training_contrast(recipe, draws)), name + " train " + in.to_string());
        const Executor evaluate{recipe, in, out, image.data(), centre_place(from, to)};
        augment.evaluate(image.data(), got.data());
        expect_near(got, evaluate.make(1.0f), name + " evaluate " + in.to_string());
      }
    }
}

}  // namespace

}  // namespace trainyard::data
