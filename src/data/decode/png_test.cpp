#include "data/decode/decode.h"

#include <png.h>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "data/decode/test_images.h"
#include "data/recipe/preprocess.h"

namespace trainyard::data {

namespace {

// Returns a PNG in any form of libpng's, of pixels in that form.
std::vector<std::byte> write_png(std::uint32_t width, std::uint32_t height, std::uint32_t format,
                                 const void* pixels, const void* colours = nullptr,
                                 std::uint32_t entries = 0) {
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  png.width = width, png.height = height, png.format = format, png.colormap_entries = entries;
  std::vector<std::byte> out(100'000);
  png_alloc_size_t bytes = out.size();
  EXPECT_NE(png_image_write_to_memory(&png, out.data(), &bytes, 0, pixels, 0, colours), 0) << png.message;
  out.resize(bytes);
  return out;
}

TEST(PngImages, ComeBackAsTheyWere) {
  for (const std::int64_t channels : {1, 3})
    for (const auto& [width, height] : {std::pair<std::int64_t, std::int64_t>{37, 21}, {1, 1}, {2, 300}}) {
      const Image image = noise_image(width, height, channels, 2);
      EXPECT_EQ(largest_difference(image, decode_image(encode_png(image), channels)), 0);
    }
}

TEST(PngImages, GrayAndColoursAreMadeOfEachOther) {
  const Image gray = noise_image(9, 8, 1, 3);
  const Image coloured = decode_image(encode_png(gray), 3);
  ASSERT_EQ(coloured.channels(), 3);
  for (std::int64_t i = 0; i < gray.bytes(); ++i)
    for (int c = 0; c < 3; ++c) ASSERT_EQ(coloured.data()[3 * i + c], gray.data()[i]);
  const Image colours = noise_image(9, 8, 3, 4);
  const Image grayed = decode_image(encode_png(colours), 1);
  ASSERT_EQ(grayed.channels(), 1);
  for (std::int64_t i = 0; i < grayed.bytes(); ++i) {
    const std::uint8_t* rgb = colours.data() + 3 * i;
    ASSERT_NEAR(grayed.data()[i], 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2], 0.51);
  }
}

TEST(PngImages, AlphaIsDropped) {
  const std::uint8_t pixels[] = {1, 2, 3, 0, 40, 50, 60, 128};
  const Image image = decode_image(write_png(2, 1, PNG_FORMAT_RGBA, pixels));
  const std::uint8_t expected[] = {1, 2, 3, 40, 50, 60};
  EXPECT_EQ(std::memcmp(image.data(), expected, sizeof expected), 0);
}

TEST(PngImages, PalettesAreResolved) {
  const std::uint8_t colours[] = {10, 20, 30, 200, 100, 50, 7, 8, 9}, pixels[] = {2, 0, 1, 1};
  const Image image = decode_image(write_png(2, 2, PNG_FORMAT_RGB_COLORMAP, pixels, colours, 3));
  const std::uint8_t expected[] = {7, 8, 9, 10, 20, 30, 200, 100, 50, 200, 100, 50};
  ASSERT_EQ(image.bytes(), 12);
  EXPECT_EQ(std::memcmp(image.data(), expected, sizeof expected), 0);
}

// libpng's simple interface writes 16 bits only as linear light, and says so in the file; we do not read
// that.
TEST(PngImages, SixteenBitsAreScaledToEight) {
  const std::uint16_t pixels[] = {0, 65535, 257 * 100, 257 * 3, 257 * 200 + 100, 257 * 200 + 200};
  const Image image = decode_image(write_png(2, 1, PNG_FORMAT_LINEAR_RGB, pixels));
  const std::uint8_t expected[] = {0, 255, 100, 3, 200, 201};
  ASSERT_EQ(image.bytes(), 6);
  EXPECT_EQ(std::memcmp(image.data(), expected, sizeof expected), 0);
}

void append_bytes(png_structp png, png_bytep bytes, std::size_t count) {
  auto* out = static_cast<std::vector<std::byte>*>(png_get_io_ptr(png));
  const auto* begin = reinterpret_cast<const std::byte*>(bytes);
  out->insert(out->end(), begin, begin + count);
}

// Returns rows in the form of the file, several pixels a byte where it has few bits.
std::vector<std::byte> write_png_rows(std::uint32_t width, std::uint32_t height, int bits, int type,
                                      int interlace, std::vector<std::uint8_t> packed) {
  std::vector<std::byte> out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, append_bytes, nullptr);
  png_set_IHDR(png, info, width, height, bits, type, interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < height; ++y) rows.push_back(packed.data() + y * (packed.size() / height));
  png_set_rows(png, info, rows.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

TEST(PngImages, InterlacedRowsComeInOrder) {
  const Image image = noise_image(21, 17, 3, 12);
  const std::vector<std::byte> encoded = write_png_rows(21, 17, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7,
                                                        {image.data(), image.data() + image.bytes()});
  EXPECT_EQ(largest_difference(decode_image(encoded), image), 0);
  for (std::size_t bytes = 8; bytes < encoded.size(); bytes += 7)
    expect_error(ErrorKind::config, "cannot be decoded", [&] { decode_image({encoded.data(), bytes}); });
}

TEST(PngImages, FewBitsAreStretchedToEight) {
  const std::vector<std::byte> encoded =
      write_png_rows(2, 2, 4, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, {0x0f, 0x31});
  const Image image = decode_image(encoded, 1);
  const std::uint8_t expected[] = {0, 255, 51, 17};
  ASSERT_EQ(image.bytes(), 4);
  EXPECT_EQ(std::memcmp(image.data(), expected, sizeof expected), 0);
}

TEST(PngImages, EveryTruncationIsRefused) {
  const std::vector<std::byte> encoded = encode_png(noise_image(13, 11, 3, 6));
  for (std::size_t bytes = 0; bytes < encoded.size(); ++bytes)
    expect_error(ErrorKind::config, bytes < 8 ? "begin neither as a JPEG nor as a PNG" : "cannot be decoded",
                 [&] {
                   decode_image({encoded.data(), bytes});
                 });
}

TEST(PngImages, DamageIsRefusedOrHarmless) {
  const Image image = noise_image(13, 11, 3, 6);
  const std::vector<std::byte> encoded = encode_png(image);
  Draws draws(5);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> damaged = encoded;
    for (std::int64_t flips = 1 + draws.below(3); flips > 0; --flips)
      damaged[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(damaged.size())))] ^=
          static_cast<std::byte>(1 + draws.below(255));
    try {
      ASSERT_EQ(largest_difference(decode_image(damaged), image), 0) << round;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::config);
      ++refused;
    }
  }
  EXPECT_GT(refused, 2500);
}

TEST(PngImages, TooLargeIsRefusedBeforeDecoding) {
  const std::vector<std::byte> wide = encode_png(flat_image(kMaxSide + 1, 1, 1, 0));
  expect_error(ErrorKind::config, "an image of 16385x1 pixels: 1 to 16384 a side are taken",
               [&] { open_image(wide); });
  EXPECT_EQ(open_image(encode_png(flat_image(1, kMaxSide, 1, 0)))->height(), kMaxSide);
}

}  // namespace

}  // namespace trainyard::data
