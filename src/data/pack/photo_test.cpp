#include "data/pack/photo.h"

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/test_folder.h"
#include "data/decode/decode.h"
#include "data/decode/test_images.h"

namespace trainyard::data {

namespace {

TEST(ImageHeader, SaysFormatAndSize) {
  const data::Image image = data::flat_image(21, 37, 3, 90);
  const std::optional<ImageHeader> png = read_image_header(data::encode_png(image)),
                                   jpeg = read_image_header(data::encode_jpeg(image, 80));
  ASSERT_TRUE(png);
  EXPECT_EQ(png->format, "png");
  EXPECT_EQ(png->height, 37);
  EXPECT_EQ(png->width, 21);
  ASSERT_TRUE(jpeg);
  EXPECT_EQ(jpeg->format, "jpeg");
  EXPECT_EQ(jpeg->height, 37);
  EXPECT_EQ(jpeg->width, 21);
}

TEST(ImageHeader, OtherFilesHaveNone) {
  EXPECT_FALSE(read_image_header({}));
  for (const std::string_view text :
       {"GIF89a and so on, for long enough", "\xff\xd8\xff", "\x89PNG\r\n\x1a\n"})
    EXPECT_FALSE(read_image_header(std::as_bytes(std::span(text)))) << text;
}

TEST(ImageHeader, NeitherCutsNorDamageBreakIt) {
  const std::vector<std::byte> whole = data::encode_jpeg(data::flat_image(16, 16, 3, 90), 80);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    // The bytes are copied, so that a sanitizer sees reads behind their end.
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    const std::optional<ImageHeader> header = read_image_header(cut);
    EXPECT_EQ(header ? header->height : 16, 16) << bytes;
  }
  for (std::uint64_t round = 0; round < 5000; ++round) {
    std::vector<std::byte> damaged = whole;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const Philox::Block words = Philox(1, round).block(i);
      damaged[words[0] % damaged.size()] = static_cast<std::byte>(words[1]);
    }
    const std::optional<ImageHeader> header = read_image_header(damaged);
    EXPECT_GT(header ? header->height : 1, 0);
  }
}

constexpr PhotoOptions kSmall{.images = 40, .classes = 3, .min_pixels = 32, .max_pixels = 48, .seed = 5};

TEST(Photo, DependsOnSeedSplitAndIndexAlone) {
  const PhotoPainter a(kSmall, "train"), again(kSmall, "train"), test(kSmall, "test");
  PhotoOptions more = kSmall;
  more.images = 4000;
  const PhotoPainter longer(more, "train");
  more.seed = 6;
  const PhotoPainter other(more, "train");
  for (const std::int64_t i : {0, 1, 17}) {
    const Photo photo = a.paint(i);
    EXPECT_EQ(photo.pixels, again.paint(i).pixels);
    EXPECT_EQ(photo.pixels, longer.paint(i).pixels);
    EXPECT_NE(photo.pixels, test.paint(i).pixels);
    EXPECT_NE(photo.pixels, other.paint(i).pixels);
    EXPECT_NE(photo.pixels, a.paint(i + 1).pixels);
    EXPECT_EQ(photo.pixels.size(), static_cast<std::size_t>(photo.height * photo.width * 3));
  }
}

TEST(Photo, SidesAndLabelsCoverTheirRanges) {
  const PhotoPainter painter(kSmall, "train");
  std::vector<int> labels(3);
  int least = 1000, most = 0;
  for (std::int64_t i = 0; i < 300; ++i) {
    const Photo photo = painter.paint(i);
    ++labels.at(static_cast<std::size_t>(photo.label));
    least = std::min({least, photo.height, photo.width});
    most = std::max({most, photo.height, photo.width});
  }
  EXPECT_EQ(least, 32);
  EXPECT_EQ(most, 48);
  for (const int times : labels) EXPECT_GT(times, 60);
}

std::array<double, 3> mean_colour(const Photo& photo) {
  std::array<double, 3> mean{};
  // The middle third, where the disc is.
  int pixels = 0;
  for (int y = photo.height / 3; y < photo.height * 2 / 3; ++y)
    for (int x = photo.width / 3; x < photo.width * 2 / 3; ++x, ++pixels)
      for (int channel = 0; channel < 3; ++channel)
        mean[static_cast<std::size_t>(channel)] +=
            photo.pixels[static_cast<std::size_t>((y * photo.width + x) * 3 + channel)];
  for (double& value : mean) value /= pixels;
  return mean;
}

// The nearest mean colour of a class tells far more than guessing does: there is something to learn.
TEST(Photo, ClassesCanBeTold) {
  const PhotoPainter train(kSmall, "train"), test(kSmall, "test");
  std::array<std::array<double, 3>, 3> means{};
  std::array<int, 3> counts{};
  for (std::int64_t i = 0; i < 300; ++i) {
    const Photo photo = train.paint(i);
    const auto label = static_cast<std::size_t>(photo.label);
    ++counts[label];
    for (std::size_t channel = 0; channel < 3; ++channel)
      means[label][channel] += mean_colour(photo)[channel];
  }
  int right = 0;
  for (std::int64_t i = 0; i < 300; ++i) {
    const Photo photo = test.paint(i);
    const std::array<double, 3> colour = mean_colour(photo);
    std::size_t best = 0;
    double least = 1e30;
    for (std::size_t label = 0; label < 3; ++label) {
      double distance = 0;
      for (std::size_t channel = 0; channel < 3; ++channel)
        distance += std::pow(colour[channel] - means[label][channel] / counts[label], 2);
      if (distance < least) {
        least = distance;
        best = label;
      }
    }
    right += static_cast<std::int32_t>(best) == photo.label;
  }
  EXPECT_GT(right, 180);  // guessing: 100
}

TEST(Photo, RefusesOptionsOutOfRange) {
  const auto make = [](int classes, int least, int most) {
    PhotoPainter({.classes = classes, .min_pixels = least, .max_pixels = most}, "train");
  };
  expect_error(ErrorKind::config, "0 classes", [&] { make(0, 32, 64); });
  expect_error(ErrorKind::config, "photos of 64..32 pixels", [&] { make(2, 64, 32); });
  expect_error(ErrorKind::config, "photos of 8..32 pixels", [&] { make(2, 8, 32); });
  expect_error(ErrorKind::config, "photos of 32..5000 pixels", [&] { make(2, 32, 5000); });
}

}  // namespace

}  // namespace trainyard::data
