#include "data/recipe/recipe.h"

#include "base/test_folder.h"
#include "data/decode/decode.h"
#include "data/decode/test_images.h"

namespace trainyard::data {

namespace {

TEST(Registry, ANameHasOneRow) {
  std::set<std::string> names;
  for (const RecipeInfo& recipe : all_recipes()) {
    EXPECT_TRUE(names.insert(recipe.name).second) << recipe.name;
    EXPECT_EQ(recipe.of_pixels != nullptr, recipe.takes == SampleKind::pixels) << recipe.name;
    EXPECT_EQ(recipe.of_encoded != nullptr, recipe.takes == SampleKind::encoded) << recipe.name;
  }
}

TEST(Registry, ARecipeTakesWhatItIsMadeFor) {
  EXPECT_STREQ(find_recipe("unit", SampleKind::pixels).name, "unit");
  EXPECT_STREQ(find_recipe("unit", SampleKind::encoded).name, "unit");
  EXPECT_STREQ(find_recipe("vgg", SampleKind::encoded).name, "vgg");
  EXPECT_STREQ(find_recipe("next-token", SampleKind::tokens).name, "next-token");
  EXPECT_STREQ(find_recipe("masked-token", SampleKind::tokens).name, "masked-token");
  expect_error(ErrorKind::config, "'vgg' takes encoded images, and the data set has decoded images",
               [] { find_recipe("vgg", SampleKind::pixels); });
  expect_error(ErrorKind::config, "'unit' takes decoded images, and the data set has tokens",
               [] { find_recipe("unit", SampleKind::tokens); });
  expect_error(ErrorKind::config, "unknown preprocessing 'vg' (did you mean 'vgg'?)",
               [] { find_recipe("vg", SampleKind::encoded); });
}

TEST(Registry, FormerNamesOfEncodedImagesStillWork) {
  for (const char* name : {"cifarnet", "lenet"}) {
    const auto former = make_preprocessor({name, {3, 8, 8}}),
               present = make_preprocessor({renamed_recipe(name).value(), {3, 8, 8}});
    const std::vector<std::byte> png = encode_png(noise_image(9, 7, 3, 4));
    std::vector<std::uint8_t> a(192), b(192);
    former->train(png, 5, a.data());
    present->train(png, 5, b.data());
    EXPECT_EQ(a, b) << name;
  }
  EXPECT_EQ(renamed_recipe("vgg"), std::nullopt);
}

// (C, H, W) of an image (H, W, C).
std::vector<std::uint8_t> planes_of(const Image& image) {
  std::vector<std::uint8_t> planes;
  for (std::int64_t c = 0; c < image.channels(); ++c)
    for (std::int64_t i = 0; i < image.width() * image.height(); ++i)
      planes.push_back(image.data()[i * image.channels() + c]);
  return planes;
}

TEST(EncodedRecipe, AnImageOfTheWantedSizeIsTheDecodedOneToTheBit) {
  for (const std::string& name : recipe_names(SampleKind::pixels))
    for (const std::int64_t channels : {1, 3}) {
      SCOPED_TRACE(name);
      const std::int64_t side = name == "cifarnet" ? 24 : 32;
      const Preprocess preprocess{name, {channels, side, side}};
      const Augment decoded(preprocess, {channels, 32, 32});
      const EncodedRecipe encoded(preprocess);
      const Image image = noise_image(32, 32, channels, 3);
      const std::vector<std::byte> png = encode_png(image);
      std::vector<float> a(static_cast<std::size_t>(channels * side * side)), b = a;
      decoded.train(planes_of(image).data(), image_draws(7, 11), a.data());
      encoded.train(png, 7, 11, b.data());
      EXPECT_EQ(a, b);
      decoded.evaluate(planes_of(image).data(), a.data());
      encoded.evaluate(png, b.data());
      EXPECT_EQ(a, b);
    }
}

TEST(EncodedRecipe, ResizesAndRefuses) {
  const EncodedRecipe unit({"unit", {3, 5, 8}});
  std::vector<float> out(120);
  unit.evaluate(encode_png(flat_image(33, 17, 1, 51)), out.data());
  for (const float value : out) EXPECT_FLOAT_EQ(value, 0.2f);
  for (const std::string& name : recipe_names(SampleKind::encoded)) {
    const EncodedRecipe recipe({name, {3, 16, 16}});
    std::vector<float> first(768), again(768);
    const std::vector<std::byte> png = encode_png(noise_image(40, 30, 3, 1));
    recipe.train(png, 1, 2, first.data());
    recipe.train(png, 1, 2, again.data());
    EXPECT_EQ(first, again) << name;
    recipe.train(png, 1, 3, again.data());
    EXPECT_EQ(first == again, name == "lenet_slim") << name;
  }
  expect_error(ErrorKind::config, "output 4x8x8 is not 1 or 3 channels", [] {
    EncodedRecipe({"unit", {4, 8, 8}});
  });
}

}  // namespace

}  // namespace trainyard::data
