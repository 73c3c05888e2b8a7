// Every preprocessing gives the same result for a JPEG, which is decoded in part and perhaps at a smaller
// scale, as for the same pixels in a PNG.

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "data/decode/decode.h"
#include "data/decode/test_images.h"
#include "data/recipe/preprocess.h"
#include "data/recipe/recipe.h"

namespace trainyard::data {

namespace {

struct Difference {
  double mean = 0;
  int largest = 0;
};

Difference difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  Difference found;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int apart = std::abs(a[i] - b[i]);
    found.mean += static_cast<double>(apart) / static_cast<double>(a.size());
    found.largest = std::max(found.largest, apart);
  }
  return found;
}

TEST(JpegPreprocess, MakesWhatTheSamePixelsInAPngMake) {
  for (const auto& [width, height] : {std::pair<std::int64_t, std::int64_t>{500, 375}, {64, 90}})
    for (const std::int64_t channels : {1, 3}) {
      const std::vector<std::byte> jpeg = encode_jpeg(smooth_image(width, height, channels), 90);
      const std::vector<std::byte> png = encode_png(decode_image(jpeg, channels));
      for (const std::string& name : recipe_names(SampleKind::encoded)) {
        SCOPED_TRACE(name);
        const auto how = make_preprocessor({name, {channels, 56, 56}});
        std::vector<std::uint8_t> a(static_cast<std::size_t>(how->sample_bytes())), b = a;
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
          how->train(jpeg, seed, a.data());
          how->train(png, seed, b.data());
          // The picture has a gradient of some units a pixel, and contrast on top of it.
          EXPECT_LE(difference(a, b).mean, 1.5) << seed;
          EXPECT_LE(difference(a, b).largest, 12) << seed;
        }
        how->evaluate(jpeg, a.data());
        how->evaluate(png, b.data());
        EXPECT_LE(difference(a, b).mean, 1.0);
        EXPECT_LE(difference(a, b).largest, 6);
      }
    }
}

TEST(JpegPreprocess, DamageIsAnError) {
  const std::vector<std::byte> jpeg = encode_jpeg(smooth_image(100, 100, 3), 90);
  const std::span<const std::byte> cut(jpeg.data(), jpeg.size() / 3);
  for (const std::string& name : recipe_names(SampleKind::encoded)) {
    const auto how = make_preprocessor({name, {3, 100, 100}});
    std::vector<std::uint8_t> out(static_cast<std::size_t>(how->sample_bytes()));
    expect_error(ErrorKind::config, "a JPEG of", [&] { how->evaluate(cut, out.data()); });
  }
}

}  // namespace

}  // namespace trainyard::data
