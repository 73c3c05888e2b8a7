#include "data/decode/resize.h"

#include <gtest/gtest.h>

#include "data/decode/test_images.h"
#include "data/recipe/preprocess.h"

namespace trainyard::data {

namespace {

constexpr ResizeMethod kAllMethods[] = {ResizeMethod::nearest, ResizeMethod::bilinear, ResizeMethod::bicubic,
                                        ResizeMethod::area};

// Returns the weight of a source place for an output centre, by the definitions of resize.h, in one
// dimension.
double reference_weight(ResizeMethod method, double centre, double step, double place) {
  const double distance = std::abs(place + 0.5 - centre);
  switch (method) {
    case ResizeMethod::nearest:
      return std::floor(centre) == place ? 1 : 0;
    case ResizeMethod::bilinear:
      return distance < 1 ? 1 - distance : 0;
    case ResizeMethod::bicubic:  // Keys 1981, equation 15
      if (distance < 1) return 1.5 * std::pow(distance, 3) - 2.5 * std::pow(distance, 2) + 1;
      if (distance < 2) return -0.5 * std::pow(distance, 3) + 2.5 * std::pow(distance, 2) - 4 * distance + 2;
      return 0;
    case ResizeMethod::area: {
      const double left = std::max(place, centre - step / 2), right = std::min(place + 1, centre + step / 2);
      return right > left ? (right - left) / step : 0;
    }
  }
  return 0;
}

struct ReferenceAxis {
  double begin, length;
  std::int64_t size, outputs;

  // Returns every place that there is, and as many beyond either end as any method may reach.
  std::vector<std::pair<std::int64_t, double>> taps(ResizeMethod method, std::int64_t output) const {
    const double step = length / static_cast<double>(outputs);
    const double centre = begin + (static_cast<double>(output) + 0.5) * step;
    const auto low = static_cast<std::int64_t>(std::floor(begin));
    const auto high = std::min(size, static_cast<std::int64_t>(std::ceil(begin + length))) - 1;
    std::vector<std::pair<std::int64_t, double>> found;
    for (std::int64_t place = low - 4; place <= high + 4; ++place) {
      const double weight = reference_weight(method, centre, step, static_cast<double>(place));
      if (weight != 0) found.emplace_back(std::clamp(place, low, high), weight);
    }
    return found;
  }
};

std::vector<double> reference_resize(const Image& image, const Box& box, const ResizeTo& to) {
  const ReferenceAxis across{box.left, box.width, image.width(), to.width},
      down{box.top, box.height, image.height(), to.height};
  std::vector<double> out;
  for (std::int64_t y = 0; y < to.height; ++y)
    for (std::int64_t x = 0; x < to.width; ++x)
      for (std::int64_t c = 0; c < image.channels(); ++c) {
        double sum = 0;
        for (const auto& [row, v] : down.taps(to.method, y))
          for (const auto& [column, u] : across.taps(to.method, to.flip ? to.width - 1 - x : x))
            sum += u * v * image.row(row)[column * image.channels() + c];
        out.push_back(std::clamp(sum, 0.0, 255.0));
      }
  return out;
}

TEST(Resize, AgreesWithItsDefinition) {
  Draws draws(11);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t width = 1 + draws.below(40), height = 1 + draws.below(40);
    const Image image = noise_image(width, height, draws.coin() ? 3 : 1, static_cast<std::uint64_t>(round));
    Box box{0, 0, static_cast<double>(width), static_cast<double>(height)};
    if (draws.coin()) {
      box.width *= draws.between(0.2, 1), box.height *= draws.between(0.2, 1);
      box.left = draws.between(0, static_cast<double>(width) - box.width);
      box.top = draws.between(0, static_cast<double>(height) - box.height);
    }
    for (const ResizeMethod method : kAllMethods) {
      const ResizeTo to{1 + draws.below(50), 1 + draws.below(50), method, draws.coin()};
      std::vector<std::uint8_t> got(static_cast<std::size_t>(to.width * to.height * image.channels()));
      resize(image, box, to, got.data());
      const std::vector<double> expected = reference_resize(image, box, to);
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], expected[i], 0.501)
            << "round " << round << " method " << static_cast<int>(method) << ' ' << width << 'x' << height
            << " to " << to.width << 'x' << to.height << " at " << i;
    }
  }
}

TEST(Resize, ToTheSameSizeChangesNothing) {
  for (const std::int64_t channels : {1, 3}) {
    const Image image = noise_image(19, 13, channels, 5);
    for (const ResizeMethod method : kAllMethods) {
      Image out(19, 13, channels);
      resize(image, {0, 0, 19, 13}, {19, 13, method}, out.data());
      EXPECT_EQ(largest_difference(image, out), 0) << static_cast<int>(method);
    }
  }
}

TEST(Resize, ReadsNothingOutsideTheBox) {
  Image image = flat_image(20, 20, 3, 255);
  for (std::int64_t y = 5; y < 12; ++y) std::fill_n(image.row(y) + 3 * 4, 3 * 9, std::uint8_t{10});
  for (const ResizeMethod method : kAllMethods) {
    Image out(31, 6, 3);
    resize(image, {4, 5, 9, 7}, {31, 6, method}, out.data());
    EXPECT_EQ(largest_difference(out, flat_image(31, 6, 3, 10)), 0) << static_cast<int>(method);
  }
}

TEST(Resize, AreaKeepsTheMean) {
  const Image image = noise_image(64, 48, 1, 9);
  Image out(1, 1, 1);
  resize(image, {0, 0, 64, 48}, {1, 1, ResizeMethod::area}, out.data());
  double sum = 0;
  for (std::int64_t i = 0; i < image.bytes(); ++i) sum += image.data()[i];
  EXPECT_NEAR(out.data()[0], sum / static_cast<double>(image.bytes()), 0.501);
}

}  // namespace

}  // namespace trainyard::data
