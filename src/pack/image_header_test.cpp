#include "pack/image_header.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "image/jpeg.h"
#include "image/png.h"
#include "image/test_images.h"

namespace trainyard::pack {
namespace {

TEST(ImageHeader, SaysFormatAndSize) {
  const image::Image image = image::flat_image(21, 37, 3, 90);
  const std::optional<ImageHeader> png = read_image_header(image::encode_png(image)),
                                   jpeg = read_image_header(image::encode_jpeg(image, 80));
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
  const std::vector<std::byte> whole = image::encode_jpeg(image::flat_image(16, 16, 3, 90), 80);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    // Copied, so that a sanitizer sees what lies behind.
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

}  // namespace
}  // namespace trainyard::pack
