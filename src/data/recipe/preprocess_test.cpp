#include "data/recipe/preprocess.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "data/decode/decode.h"
#include "data/decode/test_images.h"
#include "data/recipe/recipe.h"

namespace trainyard::data {

namespace {

using MadeSample = std::vector<std::uint8_t>;

MadeSample train_sample(const Preprocessor& how, std::span<const std::byte> encoded, std::uint64_t seed) {
  MadeSample out(static_cast<std::size_t>(how.sample_bytes()));
  how.train(encoded, seed, out.data());
  return out;
}

MadeSample evaluate_sample(const Preprocessor& how, std::span<const std::byte> encoded) {
  MadeSample out(static_cast<std::size_t>(how.sample_bytes()));
  how.evaluate(encoded, out.data());
  return out;
}

std::vector<float> normalised(const Preprocessor& how, const MadeSample& pixels) {
  std::vector<float> out(pixels.size());
  how.normalise(pixels.data(), out.data());
  return out;
}

MadeSample bytes_of(const Image& image) { return {image.data(), image.data() + image.bytes()}; }

TEST(ImagePreprocess, IsAFunctionOfImageAndSeed) {
  const std::vector<std::byte> encoded = encode_png(smooth_image(90, 70, 3));
  for (const std::string& name : recipe_names(SampleKind::encoded))
    for (const std::int64_t channels : {1, 3})
      for (const bool fast : {false, true}) {
        SCOPED_TRACE(name);
        const auto how = make_preprocessor({name, {channels, 32, 48}, fast});
        EXPECT_EQ(how->sample_bytes(), channels * 32 * 48);
        std::set<MadeSample> different;
        std::vector<MadeSample> alone;
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
          alone.push_back(train_sample(*how, encoded, seed));
          different.insert(alone.back());
        }
        if (name == "lenet_slim")
          EXPECT_EQ(different.size(), 1u);
        else
          EXPECT_GE(different.size(), 11u);
        std::vector<std::thread> threads;
        std::vector<MadeSample> together(alone.size());
        for (std::size_t t = 0; t < 3; ++t)
          threads.emplace_back([&, t] {
            for (std::size_t seed = t; seed < together.size(); seed += 3)
              together[seed] = train_sample(*how, encoded, seed);
          });
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(alone, together);
        EXPECT_EQ(evaluate_sample(*how, encoded), evaluate_sample(*how, encoded));
      }
}

TEST(ImagePreprocess, GrayImagesGiveEqualChannels) {
  const std::vector<std::byte> encoded = encode_png(noise_image(60, 50, 1, 3));
  for (const std::string& name : recipe_names(SampleKind::encoded)) {
    const auto how = make_preprocessor({name, {3, 24, 24}});
    const MadeSample sample = train_sample(*how, encoded, 5);
    for (std::size_t i = 0; i < sample.size(); i += 3) {
      ASSERT_EQ(sample[i], sample[i + 1]) << name;
      ASSERT_EQ(sample[i], sample[i + 2]) << name;
    }
  }
}

TEST(ImagePreprocess, RefusesWhatItCannotHave) {
  expect_error(ErrorKind::config,
               "no preprocessing of images is called 'inceptoin'; there are: inception, vgg, cifarnet_slim, "
               "lenet_slim",
               [] {
                 make_preprocessor({"inceptoin", {3, 8, 8}});
               });
  for (const Shape& shape : {Shape{4, 8, 8}, Shape{3, 0, 8}, Shape{3, 8}, Shape{1, 8, 5000}})
    expect_error(ErrorKind::config, "preprocessing 'vgg': output " + shape.to_string(), [&] {
      make_preprocessor({"vgg", shape});
    });
  const std::vector<std::byte> no_image(100);
  for (const std::string& name : recipe_names(SampleKind::encoded)) {
    const auto how = make_preprocessor({name, {3, 8, 8}});
    expect_error(ErrorKind::config, "begin neither as", [&] { train_sample(*how, no_image, 1); });
    expect_error(ErrorKind::config, "begin neither as", [&] { evaluate_sample(*how, no_image); });
  }
}

TEST(ImagePreprocess, RandomBoxesAreWithinTheirBounds) {
  Draws draws(1);
  double areas = 0, least = 1, most = 0;
  constexpr int kCount = 4000;
  for (int i = 0; i < kCount; ++i) {
    const Box box = random_box(500, 375, draws);
    ASSERT_GE(box.left, 0);
    ASSERT_GE(box.top, 0);
    ASSERT_LE(box.left + box.width, 500);
    ASSERT_LE(box.top + box.height, 375);
    const double area = box.width * box.height / (500 * 375), aspect = box.width / box.height;
    ASSERT_GE(area, 0.1);
    ASSERT_NEAR(aspect, 25.0 / 24, 7.0 / 24 + 0.02);
    areas += area / kCount, least = std::min(least, area), most = std::max(most, area);
  }
  EXPECT_NEAR(areas, 0.49, 0.06);
  EXPECT_LT(least, 0.11);
  EXPECT_GT(most, 0.9);
  const Box whole = random_box(1000, 5, draws);  // no box of such an aspect covers a tenth of it
  EXPECT_EQ(whole.width, 1000);
  EXPECT_EQ(whole.height, 5);
}

TEST(InceptionPreprocess, EvaluationTakesTheCentre) {
  Image image = flat_image(80, 160, 3, 200);
  for (std::int64_t y = 10; y < 150; ++y) std::fill_n(image.row(y) + 3 * 5, 3 * 70, std::uint8_t{90});
  const auto how = make_preprocessor({"inception", {3, 30, 30}});
  for (const std::uint8_t byte : evaluate_sample(*how, encode_png(image))) ASSERT_EQ(byte, 90);
}

TEST(InceptionPreprocess, FloatsReachFromMinusOneToOne) {
  const auto how = make_preprocessor({"inception", {3, 1, 2}});
  const std::vector<float> floats = normalised(*how, {0, 255, 51, 102, 153, 204});
  const float expected[] = {-1, -0.2f, 1, 0.2f, -0.6f, 0.6f};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(floats[i], expected[i], 1e-6);
}

// Hue and contrast would change the hue of a flat image; brightness and saturation do not.
TEST(InceptionPreprocess, FastModeKeepsTheHue) {
  Image image = flat_image(40, 40, 3, 100);
  for (std::int64_t i = 0; i < 40 * 40; ++i) image.data()[3 * i] = 160;
  const std::vector<std::byte> encoded = encode_png(image);
  const auto fast = make_preprocessor({"inception", {3, 8, 8}, true}),
             slow = make_preprocessor({"inception", {3, 8, 8}, false});
  int turned = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const MadeSample sample = train_sample(*fast, encoded, seed);
    ASSERT_NEAR(sample[1], sample[2], 1);
    ASSERT_GT(sample[0], sample[1] + 10);
    const MadeSample other = train_sample(*slow, encoded, seed);
    turned += std::abs(other[1] - other[2]) > 3;
  }
  EXPECT_GT(turned, 25);
}

TEST(InceptionPreprocess, HalfOfTheImagesAreFlipped) {
  const std::vector<std::byte> encoded = encode_png(smooth_image(200, 200, 1));
  const auto how = make_preprocessor({"inception", {1, 16, 16}, true});
  int rising = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const MadeSample sample = train_sample(*how, encoded, seed);
    rising += sample[0] < sample[15];
  }
  EXPECT_NEAR(rising, 200, 50);
}

// Each pixel's value tells its column, so the slope of the output tells the scale.
TEST(VggPreprocess, ScalesTheShorterSide) {
  Image ramp(448, 300, 1);
  for (std::int64_t y = 0; y < 300; ++y)
    for (std::int64_t x = 0; x < 448; ++x) ramp.row(y)[x] = static_cast<std::uint8_t>(x / 2);
  const std::vector<std::byte> encoded = encode_png(ramp);
  const auto how = make_preprocessor({"vgg", {1, 112, 112}});
  const auto slope = [](const MadeSample& sample) { return (sample[111] - sample[0]) / 111.0; };
  // The shorter side of 300 becomes 128, so a step is 300 / 128 columns, of half a unit each.
  EXPECT_NEAR(slope(evaluate_sample(*how, encoded)), 0.5 * 300 / 128, 0.02);
  EXPECT_NEAR(evaluate_sample(*how, encoded)[56], 112, 2);
  double least = 9, most = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const double found = std::abs(slope(train_sample(*how, encoded, seed)));
    least = std::min(least, found), most = std::max(most, found);
  }
  EXPECT_NEAR(least, 0.5 * 300 / 256, 0.02);
  EXPECT_NEAR(most, 0.5 * 300 / 128, 0.02);
}

TEST(VggPreprocess, SubtractsTheMeans) {
  const std::vector<float> floats = normalised(*make_preprocessor({"vgg", {3, 1, 1}}), {124, 117, 0});
  EXPECT_NEAR(floats[0], 0.32, 1e-4);
  EXPECT_NEAR(floats[1], 0.22, 1e-4);
  EXPECT_NEAR(floats[2], -103.94, 1e-4);
  EXPECT_NEAR(normalised(*make_preprocessor({"vgg", {1, 1, 1}}), {0})[0], -117.38, 0.01);
}

TEST(CifarnetImages, AreShiftedByAtMostFour) {
  const Image image = noise_image(20, 20, 3, 6);
  const std::vector<std::byte> encoded = encode_png(image);
  const auto how = make_preprocessor({"cifarnet_slim", {3, 20, 20}});
  EXPECT_EQ(evaluate_sample(*how, encoded), bytes_of(image));
  std::set<std::tuple<int, int, bool>> places;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const MadeSample sample = train_sample(*how, encoded, seed);
    int matches = 0;
    for (int top = -4; top <= 4; ++top)
      for (int left = -4; left <= 4; ++left)
        for (const bool flip : {false, true}) {
          bool same = true;
          for (int y = 0; y < 20 && same; ++y)
            for (int x = 0; x < 60 && same; ++x) {
              const int row = y + top, column = (flip ? 19 - x / 3 : x / 3) + left;
              const bool inside = row >= 0 && row < 20 && column >= 0 && column < 20;
              same = sample[static_cast<std::size_t>(60 * y + x)] ==
                     (inside ? image.row(row)[3 * column + x % 3] : 0);
            }
          if (same) places.insert({top, left, flip});
          matches += same;
        }
    ASSERT_EQ(matches, 1) << seed;
  }
  EXPECT_GT(places.size(), 50u);
}

TEST(CifarnetImages, AreStandardised) {
  const auto how = make_preprocessor({"cifarnet_slim", {3, 16, 16}});
  const std::vector<float> floats = normalised(*how, bytes_of(noise_image(16, 16, 3, 2)));
  double sum = 0, squares = 0;
  for (const float value : floats)
    sum += static_cast<double>(value), squares += static_cast<double>(value * value);
  EXPECT_NEAR(sum / 768, 0, 1e-5);
  EXPECT_NEAR(squares / 768, 1, 1e-5);
  for (const float value : normalised(*how, bytes_of(flat_image(16, 16, 3, 77)))) ASSERT_EQ(value, 0);
}

TEST(LenetImages, AreCentredOrPadded) {
  const Image image = noise_image(10, 7, 1, 6);
  const std::vector<std::byte> encoded = encode_png(image);
  const MadeSample cut = evaluate_sample(*make_preprocessor({"lenet_slim", {1, 4, 4}}), encoded);
  const MadeSample padded = evaluate_sample(*make_preprocessor({"lenet_slim", {1, 9, 4}}), encoded);
  for (std::int64_t y = 0; y < 9; ++y)
    for (std::int64_t x = 0; x < 4; ++x) {
      if (y < 4) {
        ASSERT_EQ(cut[static_cast<std::size_t>(4 * y + x)], image.row(y + 1)[x + 3]);
      }
      ASSERT_EQ(padded[static_cast<std::size_t>(4 * y + x)], y < 1 || y > 7 ? 0 : image.row(y - 1)[x + 3]);
    }
  const std::vector<float> floats = normalised(*make_preprocessor({"lenet_slim", {1, 1, 3}}), {0, 128, 192});
  EXPECT_EQ(floats, (std::vector<float>{-1, 0, 0.5f}));
}

}  // namespace

}  // namespace trainyard::data
