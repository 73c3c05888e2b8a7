#include "data/decode/colour.h"

#include <gtest/gtest.h>

#include "data/decode/test_images.h"
#include "data/recipe/preprocess.h"

namespace trainyard::data {

namespace {

using Colour = std::array<double, 3>;

struct Hsv {
  double hue, saturation, value;
};

// Follows the textbook definition: Smith 1978, hue in [0, 1).
Hsv to_hsv(const Colour& rgb) {
  const auto [r, g, b] = rgb;
  const double value = std::max({r, g, b}), range = value - std::min({r, g, b});
  double hue = 0;
  if (range > 0) {
    if (value == r)
      hue = (g - b) / range;
    else if (value == g)
      hue = 2 + (b - r) / range;
    else
      hue = 4 + (r - g) / range;
    hue = hue / 6 - std::floor(hue / 6);
  }
  return {hue, value > 0 ? range / value : 0, value};
}

Colour to_rgb(const Hsv& hsv) {
  const double sixths = (hsv.hue - std::floor(hsv.hue)) * 6;
  const int sector = static_cast<int>(sixths) % 6;
  const double f = sixths - std::floor(sixths), v = hsv.value, s = hsv.saturation;
  const double p = v * (1 - s), q = v * (1 - s * f), t = v * (1 - s * (1 - f));
  const Colour sectors[] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  return sectors[sector];
}

std::vector<Colour> reference_change(const ColourStep& step, std::vector<Colour> pixels) {
  const auto amount = static_cast<double>(step.amount);
  Colour mean{};
  for (const Colour& pixel : pixels)
    for (std::size_t c = 0; c < 3; ++c) mean[c] += pixel[c] / static_cast<double>(pixels.size());
  for (Colour& pixel : pixels) {
    if (step.change == ColourChange::saturation || step.change == ColourChange::hue) {
      Hsv hsv = to_hsv(pixel);
      if (step.change == ColourChange::hue) hsv.hue += amount;
      if (step.change == ColourChange::saturation) hsv.saturation = std::min(1.0, hsv.saturation * amount);
      pixel = to_rgb(hsv);
      continue;
    }
    for (std::size_t c = 0; c < 3; ++c)
      pixel[c] = step.change == ColourChange::brightness ? pixel[c] + amount
                                                         : (pixel[c] - mean[c]) * amount + mean[c];
  }
  return pixels;
}

// No step of the test takes these colours below zero, where HSV and the textbook are undefined.
Image middling_image(std::int64_t width, std::int64_t height, std::uint64_t seed) {
  Image image = noise_image(width, height, 3, seed);
  for (std::int64_t i = 0; i < image.bytes(); ++i)
    image.data()[i] = static_cast<std::uint8_t>(95 + image.data()[i] % 110);
  return image;
}

void expect_agrees(const std::vector<ColourStep>& steps, Image image) {
  const std::int64_t count = image.width() * image.height();
  std::vector<Colour> pixels;
  for (std::int64_t i = 0; i < count; ++i)
    pixels.push_back(
        {image.data()[3 * i] / 255.0, image.data()[3 * i + 1] / 255.0, image.data()[3 * i + 2] / 255.0});
  for (const ColourStep& step : steps) pixels = reference_change(step, std::move(pixels));
  change_colours(steps, count, 3, image.data());
  for (std::int64_t i = 0; i < 3 * count; ++i) {
    const double expected = pixels[static_cast<std::size_t>(i / 3)][static_cast<std::size_t>(i % 3)];
    ASSERT_NEAR(image.data()[i], 255 * std::clamp(expected, 0.0, 1.0), 0.505) << i;
  }
}

TEST(Colours, EachChangeAgreesWithItsDefinition) {
  using enum ColourChange;
  for (const auto& [width, height] : {std::pair<std::int64_t, std::int64_t>{61, 57}, {3, 1}, {64, 32}})
    for (const ColourStep& step :
         {ColourStep{brightness, -0.12f}, ColourStep{brightness, 0.3f}, ColourStep{saturation, 0.5f},
          ColourStep{saturation, 1.5f}, ColourStep{hue, 0.2f}, ColourStep{hue, -0.2f}, ColourStep{hue, 0.5f},
          ColourStep{contrast, 0.5f}, ColourStep{contrast, 1.5f}}) {
      SCOPED_TRACE(static_cast<int>(step.change));
      expect_agrees({step}, middling_image(width, height, 3));
    }
}

TEST(Colours, StepsFollowEachOtherUnrounded) {
  using enum ColourChange;
  std::vector<ColourStep> steps{{brightness, 0.1f}, {contrast, 1.2f}, {hue, 0.15f}, {saturation, 0.7f}};
  std::sort(steps.begin(), steps.end(), [](auto& a, auto& b) { return a.change < b.change; });
  int orders = 0;
  do {
    SCOPED_TRACE(orders++);
    expect_agrees(steps, middling_image(45, 50, 17));
  } while (std::next_permutation(steps.begin(), steps.end(),
                                 [](auto& a, auto& b) { return a.change < b.change; }));
  EXPECT_EQ(orders, 24);
  expect_agrees({{contrast, 1.1f}, {contrast, 0.8f}}, middling_image(45, 50, 18));
}

TEST(Colours, NoStepsChangeNothing) {
  Image image = noise_image(50, 41, 3, 4);
  const Image before = noise_image(50, 41, 3, 4);
  change_colours({}, 50 * 41, 3, image.data());
  EXPECT_EQ(largest_difference(image, before), 0);
}

TEST(Colours, FullSaturationKeepsTheLargestChannelAndEndsAtZero) {
  std::uint8_t pixel[] = {200, 100, 50};
  const ColourStep step{ColourChange::saturation, 100};
  change_colours({&step, 1}, 1, 3, pixel);
  EXPECT_EQ(pixel[0], 200);
  EXPECT_EQ(pixel[1], 67);  // v - (v - c) / s with s = 0.75
  EXPECT_EQ(pixel[2], 0);
}

TEST(Colours, GrayHasBrightnessAndContrastOnly) {
  Image image = noise_image(33, 33, 1, 8);
  const Image before = noise_image(33, 33, 1, 8);
  const ColourStep colours[] = {{ColourChange::saturation, 1.5f}, {ColourChange::hue, 0.2f}};
  change_colours(colours, 33 * 33, 1, image.data());
  EXPECT_EQ(largest_difference(image, before), 0);
  const ColourStep nothing_left[] = {{ColourChange::contrast, 0.0f}, {ColourChange::brightness, 0.1f}};
  change_colours(nothing_left, 33 * 33, 1, image.data());
  double mean = 25.5;
  for (std::int64_t i = 0; i < before.bytes(); ++i)
    mean += before.data()[i] / static_cast<double>(before.bytes());
  for (std::int64_t i = 0; i < image.bytes(); ++i) ASSERT_NEAR(image.data()[i], mean, 0.51);
}

}  // namespace

}  // namespace trainyard::data
