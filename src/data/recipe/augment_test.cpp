#include "data/recipe/augment.h"

#include "base/test_folder.h"

namespace trainyard::data {

namespace {

using Pixels = std::vector<double>;

std::vector<std::uint8_t> random_image(const Shape& shape, std::uint64_t seed) {
  std::vector<std::uint8_t> image(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < image.size(); ++i)
    image[i] = static_cast<std::uint8_t>(Philox(seed, 0).word(i));
  return image;
}

// These functions are the plain formulation, one operation after the other.
Pixels crop(const std::vector<std::uint8_t>& image, const Shape& in, std::int64_t top, std::int64_t left,
            bool flip, const Shape& out) {
  Pixels result;
  for (std::int64_t c = 0; c < out[0]; ++c)
    for (std::int64_t y = top; y < top + out[1]; ++y)
      for (std::int64_t i = 0; i < out[2]; ++i) {
        const std::int64_t x = left + (flip ? out[2] - 1 - i : i);
        const bool inside = y >= 0 && y < in[1] && x >= 0 && x < in[2];
        result.push_back(inside ? image[static_cast<std::size_t>((c * in[1] + y) * in[2] + x)] : 0);
      }
  return result;
}

void contrast(Pixels& x, std::int64_t channels, double factor) {
  const std::size_t plane = x.size() / static_cast<std::size_t>(channels);
  for (auto begin = x.begin(); begin != x.end(); begin += static_cast<std::ptrdiff_t>(plane)) {
    const auto end = begin + static_cast<std::ptrdiff_t>(plane);
    const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(plane);
    for (auto i = begin; i != end; ++i) *i = (*i - mean) * factor + mean;
  }
}

void standardise(Pixels& x) {
  const auto n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double variance = 0;
  for (const double value : x) variance += (value - mean) * (value - mean) / n;
  for (double& value : x) value = (value - mean) / std::max(std::sqrt(variance), 1 / std::sqrt(n));
}

void expect_near(const std::vector<float>& got, const Pixels& expected, double tolerance = 2e-5) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << "at " << i;
}

std::vector<float> evaluate(const Augment& augment, const std::vector<std::uint8_t>& image) {
  std::vector<float> out(static_cast<std::size_t>(augment.output().elements()), -99.0f);
  augment.evaluate(image.data(), out.data());
  return out;
}

std::vector<float> train(const Augment& augment, const std::vector<std::uint8_t>& image,
                         const Philox::Block& draws) {
  std::vector<float> out(static_cast<std::size_t>(augment.output().elements()), -99.0f);
  augment.train(image.data(), draws, out.data());
  return out;
}

// A word that makes `value` of `range` equally likely values.
std::uint32_t word_for(std::int64_t value, std::int64_t range) {
  return static_cast<std::uint32_t>(((static_cast<std::uint64_t>(value) << 32) + (1u << 31)) /
                                    static_cast<std::uint64_t>(range));
}

constexpr std::uint32_t kFlip = 1u << 31;

TEST(Augment, UnitDividesBy255) {
  const Shape shape{1, 28, 28};
  const auto image = random_image(shape, 1);
  Pixels expected(image.begin(), image.end());
  for (double& value : expected) value /= 255;
  expect_near(evaluate(Augment({"unit", {}}, shape), image), expected, 1e-7);
  expect_near(train(Augment({"unit", {}}, shape), image, {1, 2, 3, 4}), expected, 1e-7);
}

TEST(Augment, CifarnetEqualsThePlainFormulation) {
  const Shape in{3, 32, 32}, out{3, 24, 24};
  const Augment augment({"cifarnet", {}}, in);
  EXPECT_EQ(augment.output(), out);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto image = random_image(in, seed);
    const auto top = static_cast<std::int64_t>(seed % 9), left = static_cast<std::int64_t>(seed * 4 % 9);
    const bool flip = seed % 2 != 0;
    const auto contrast_word = static_cast<std::uint32_t>(seed * 0x0CCCCCCC);
    Pixels expected = crop(image, in, top, left, flip, out);
    for (double& value : expected) value += 6.3 * static_cast<double>(seed) - 63;  // brightness cancels
    contrast(expected, 3, 0.2 + 1.6 * to_unit_float(contrast_word));
    standardise(expected);
    expect_near(train(augment, image, {word_for(top, 9), word_for(left, 9), flip ? kFlip : 0, contrast_word}),
                expected);
  }
  const auto image = random_image(in, 99);
  Pixels expected = crop(image, in, 4, 4, false, out);
  standardise(expected);
  expect_near(evaluate(augment, image), expected);
}

TEST(Augment, PaddedRecipesEqualThePlainFormulation) {
  const Shape shape{3, 32, 32};
  const auto image = random_image(shape, 3);
  for (const std::int64_t shift : {-4, -1, 0, 4})
    for (const bool flip : {false, true}) {
      const Philox::Block draws{word_for(shift + 4, 9), word_for(4 - shift, 9), flip ? kFlip : 0, 0x40000000};
      Pixels expected = crop(image, shape, shift, -shift, flip, shape);
      Pixels contrasted = expected;
      standardise(expected);
      expect_near(train(Augment({"cifar-flip", {}}, shape), image, draws), expected);
      contrast(contrasted, 3, 0.6);
      standardise(contrasted);
      expect_near(train(Augment({"cifar-pad", {}}, shape), image, draws), contrasted);
    }
  Pixels expected(image.begin(), image.end());
  standardise(expected);
  for (const char* name : {"cifar-pad", "cifar-flip", "standardise"})
    expect_near(evaluate(Augment({name, {}}, shape), image), expected);
}

TEST(Augment, LenetAndStandardiseCropAndPadAboutTheCentre) {
  const Shape in{2, 9, 12};
  const auto image = random_image(in, 4);
  for (const Shape& out : {Shape{2, 9, 12}, Shape{2, 4, 5}, Shape{2, 12, 15}, Shape{2, 20, 3}}) {
    const auto offset = [&](int axis) {  // towards zero, as TensorFlow's crop-or-pad
      return (in[axis] - out[axis]) / 2;
    };
    Pixels expected = crop(image, in, offset(1), offset(2), false, out);
    Pixels standard = expected;
    for (double& value : expected) value = (value - 128) / 128;
    expect_near(evaluate(Augment({"lenet", out}, in), image), expected, 1e-7);
    standardise(standard);
    expect_near(evaluate(Augment({"standardise", out}, in), image), standard);
  }
}

TEST(Augment, ConstantImagesBecomeZero) {
  const Shape shape{3, 32, 32};
  for (const int value : {0, 1, 117, 255}) {
    const std::vector<std::uint8_t> image(3072, static_cast<std::uint8_t>(value));
    for (const char* name : {"cifarnet", "cifar-pad", "cifar-flip", "standardise"})
      for (const float x : evaluate(Augment({name, {}}, shape), image))
        ASSERT_EQ(x, 0.0f) << name << " " << value;
    for (const float x : train(Augment({"cifarnet", {}}, shape), image, {7, 7, 7, 7})) ASSERT_EQ(x, 0.0f);
  }
}

TEST(Augment, NearlyConstantImagesUseTheLeastDeviation) {
  std::vector<std::uint8_t> image(3072, 10);
  image[5] = 11;  // deviation 0.018 is just above 1 / sqrt(3072); of 1x1 pixels it is zero
  Pixels expected(image.begin(), image.end());
  standardise(expected);
  expect_near(evaluate(Augment({"standardise", {}}, {3, 32, 32}), image), expected, 1e-4);
  EXPECT_EQ(evaluate(Augment({"standardise", {}}, {1, 1, 1}), image).front(), 0.0f);
}

TEST(Augment, DrawsReachEveryCropAndBothFlips) {
  const Shape in{1, 3, 3};
  const std::vector<std::uint8_t> image{0, 1, 2, 3, 4, 5, 6, 7, 8};
  const Augment augment({"cifarnet", {1, 1, 2}}, in);
  std::vector<int> seen(6);  // top 0..2, flip or not; two values standardise to -1, 1 or 1, -1
  for (std::int64_t position = 0; position < 600; ++position) {
    const Philox::Block draws = image_draws(1, position);
    const auto out = train(augment, image, draws);
    ++seen[static_cast<std::size_t>((std::uint64_t{draws[0]} * 3 >> 32) * 2 + (out[0] > out[1] ? 1 : 0))];
  }
  EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 60);
  EXPECT_EQ(image_draws(1, 5), image_draws(1, 5));
  EXPECT_NE(image_draws(1, 5), image_draws(2, 5));
}

TEST(Augment, RefusesNamesAndSizesThatCannotBe) {
  const Shape in{3, 32, 32};
  const auto refused = [&](const Preprocess& preprocess, const std::string& part) {
    expect_error(ErrorKind::config, part, [&] { Augment(preprocess, in); });
  };
  refused({"cifarnett", {}}, "did you mean 'cifarnet'?");
  refused({"cifarnet", {3, 40, 24}}, "3x40x24 cannot be made of images of 3x32x32: it crops");
  refused({"unit", {3, 24, 24}}, "it keeps the size");
  refused({"cifar-pad", {3, 24, 24}}, "it keeps the size");
  refused({"lenet", {1, 28, 28}}, "it keeps the 3 channels");
  refused({"lenet", {28, 28}}, "three sizes");
  refused({"lenet", {3, 0, 28}}, "three sizes");
  expect_error(ErrorKind::config, "3x24x24", [] { Augment({"cifarnet", {}}, {3, 20, 20}); });
}

}  // namespace

}  // namespace trainyard::data
