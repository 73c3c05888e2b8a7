#include "data/decode/decode.h"

#include <cstdio>

#include <jpeglib.h>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "data/decode/resize.h"
#include "data/decode/test_images.h"
#include "data/recipe/preprocess.h"

namespace trainyard::data {

namespace {

struct JpegForm {
  J_COLOR_SPACE pixels = JCS_RGB, stored = JCS_YCbCr;
  int sampling = 2;  // luminance has so many samples a side for one of colour
  bool progressive = false;
};

std::vector<std::byte> write_jpeg(const Image& image, const JpegForm& form) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&info, &buffer, &bytes);
  info.image_width = static_cast<JDIMENSION>(image.width());
  info.image_height = static_cast<JDIMENSION>(image.height());
  info.input_components = static_cast<int>(image.channels());
  info.in_color_space = form.pixels;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, form.stored);
  jpeg_set_quality(&info, 95, TRUE);
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = form.sampling;
  if (form.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(image.row(info.next_scanline));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* begin = reinterpret_cast<const std::byte*>(buffer);
  const std::vector<std::byte> out(begin, begin + bytes);
  std::free(buffer);
  return out;
}

constexpr JpegForm kForms[] = {{},
                               {.sampling = 1},
                               {.progressive = true},
                               {.stored = JCS_RGB, .sampling = 1},
                               {.stored = JCS_GRAYSCALE, .sampling = 1}};

TEST(JpegImages, ComeBackAlmostAsTheyWere) {
  for (const std::int64_t channels : {1, 3}) {
    const Image image = smooth_image(123, 77, channels);
    const std::vector<std::byte> encoded = encode_jpeg(image, 95);
    EXPECT_LT(encoded.size(), 10'000u);
    EXPECT_LE(largest_difference(image, decode_image(encoded, channels)), 6) << channels;
  }
  EXPECT_LT(encode_jpeg(smooth_image(123, 77, 3), 30).size(),
            encode_jpeg(smooth_image(123, 77, 3), 99).size());
}

TEST(JpegImages, NoiseAtFullQualityHasRoom) {
  for (const auto& [width, height] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {17, 33}, {200, 100}}) {
    const Image image = noise_image(width, height, 1, 3);
    EXPECT_LE(largest_difference(image, decode_image(encode_jpeg(image, 100), 1)), 3);
  }
}

TEST(JpegImages, EveryFormGivesGrayAndColours) {
  const Image image = smooth_image(90, 70, 3);
  for (const JpegForm& form : kForms) {
    const Image colours = decode_image(write_jpeg(image, form), 3),
                gray = decode_image(write_jpeg(image, form), 1);
    ASSERT_EQ(colours.channels(), 3);
    ASSERT_EQ(gray.channels(), 1);
    if (form.stored != JCS_GRAYSCALE) {
      EXPECT_LE(largest_difference(image, colours), 6);
    }
    for (std::int64_t i = 0; i < gray.bytes(); ++i) {
      const std::uint8_t* rgb = image.data() + 3 * i;
      ASSERT_NEAR(gray.data()[i], 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2], 5);
    }
  }
}

TEST(JpegImages, InksBecomeColours) {
  const Image image = smooth_image(40, 30, 3);
  Image inks(40, 30, 4);  // as Adobe stores them: the light that an ink lets through
  for (std::int64_t i = 0; i < 40 * 30; ++i) {
    std::memcpy(inks.data() + 4 * i, image.data() + 3 * i, 3);
    inks.data()[4 * i + 3] = 255;
  }
  for (const J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
    const std::vector<std::byte> encoded =
        write_jpeg(inks, {.pixels = JCS_CMYK, .stored = stored, .sampling = 1});
    EXPECT_LE(largest_difference(decode_image(encoded, 3), image), 6);
    EXPECT_EQ(decode_image(encoded, 1).channels(), 1);
  }
}

// At the left and right edge of a part, colours of half the resolution lack a neighbour.
TEST(JpegImages, APartIsThatPartOfTheWhole) {
  const Image image = smooth_image(150, 110, 3);
  Draws draws(3);
  for (const JpegForm& form : kForms) {
    const std::vector<std::byte> encoded = write_jpeg(image, form);
    const Image whole = decode_image(encoded);
    for (int round = 0; round < 40; ++round) {
      const std::int64_t width = 1 + draws.below(150), height = 1 + draws.below(110);
      const std::int64_t left = draws.below(150 - width + 1), top = draws.below(110 - height + 1);
      Image part;
      const Box box =
          open_image(encoded)->decode({.box = {static_cast<double>(left), static_cast<double>(top),
                                               static_cast<double>(width), static_cast<double>(height)}},
                                      part);
      ASSERT_EQ(box.width, width);
      ASSERT_EQ(box.height, height);
      ASSERT_EQ(part.height(), height);
      ASSERT_EQ(box.top, 0);
      const auto offset = static_cast<std::int64_t>(box.left);
      for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < 3 * width; ++x)
          ASSERT_NEAR(part.row(y)[3 * offset + x], whole.row(top + y)[3 * left + x],
                      x < 3 || x >= 3 * width - 3 ? 8 : 0)
              << width << 'x' << height << '+' << left << '+' << top << " at " << x << ", " << y;
    }
  }
}

TEST(JpegImages, LargePartsComeAveraged) {
  const Image image = smooth_image(400, 320, 3);
  const std::vector<std::byte> encoded = encode_jpeg(image, 95);
  const Box wanted{40, 24, 320, 240};
  for (const std::int64_t reduction : {1, 2, 4, 8}) {
    Image small;
    const Box box = open_image(encoded)->decode(
        {.box = wanted, .least_width = 320 / reduction, .least_height = 240 / reduction}, small);
    ASSERT_EQ(box.width * static_cast<double>(reduction), 320);
    ASSERT_EQ(box.height * static_cast<double>(reduction), 240);
    Image resized(20, 15, 3), expected(20, 15, 3);
    resize(small, box, {20, 15, ResizeMethod::area}, resized.data());
    resize(image, wanted, {20, 15, ResizeMethod::area}, expected.data());
    EXPECT_LE(largest_difference(resized, expected), 4) << reduction;
  }
  Image more;
  const Box box = open_image(encoded)->decode({.box = wanted, .least_width = 161, .least_height = 10}, more);
  EXPECT_EQ(box.width, 320) << "half of it would be too narrow";
}

TEST(JpegImages, EveryTruncationIsRefused) {
  for (const JpegForm& form : {JpegForm{}, JpegForm{.progressive = true}}) {
    const std::vector<std::byte> encoded = write_jpeg(smooth_image(40, 24, 3), form);
    for (std::size_t bytes = 0; bytes < encoded.size(); ++bytes)
      expect_error(ErrorKind::config,
                   bytes < 3 ? "begin neither as a JPEG nor as a PNG" : "cannot be decoded: Premature end",
                   [&] {
                     decode_image({encoded.data(), bytes});
                   });
  }
}

TEST(JpegImages, DamageGivesAnErrorOrAnImage) {
  Draws draws(5);
  for (const JpegForm& form : {JpegForm{}, JpegForm{.progressive = true}, JpegForm{.sampling = 1}}) {
    const std::vector<std::byte> encoded = write_jpeg(smooth_image(40, 24, 3), form);
    int refused = 0, decoded = 0;
    for (int round = 0; round < 2000; ++round) {
      std::vector<std::byte> damaged = encoded;
      for (std::int64_t flips = 1 + draws.below(4); flips > 0; --flips)
        damaged[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(damaged.size())))] ^=
            static_cast<std::byte>(1 + draws.below(255));
      try {
        const auto image = open_image(damaged);
        Box box = image->whole();
        if (draws.coin()) box = {box.width / 3, box.height / 4, box.width / 2, box.height / 2};
        Image out;
        image->decode({.box = box, .channels = draws.coin() ? 1 : 3}, out);
        ++decoded;
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::config) << error.what();
        ++refused;
      }
    }
    EXPECT_GT(refused, 100);
    EXPECT_GT(decoded, 100);
  }
}

// The height and width stand behind the marker of the frame.
TEST(JpegImages, TooLargeIsRefusedBeforeDecoding) {
  std::vector<std::byte> encoded = encode_jpeg(flat_image(8, 8, 1, 100), 90);
  std::size_t at = 2;
  while (encoded[at + 1] != std::byte{0xc0})
    at += 2 + static_cast<std::size_t>(std::to_integer<int>(encoded[at + 2]) * 256 +
                                       std::to_integer<int>(encoded[at + 3]));
  encoded[at + 7] = std::byte{0x40}, encoded[at + 8] = std::byte{0x01};
  expect_error(ErrorKind::config, "an image of 16385x8 pixels", [&] { open_image(encoded); });
}

}  // namespace

}  // namespace trainyard::data
