#include "data/recipe/preprocess.h"

#include <cmath>

#include <fmt/ranges.h>

#include "base/error.h"
#include "data/decode/image.h"

namespace trainyard::data {

Box random_box(std::int64_t width, std::int64_t height, Draws& draws) {
  constexpr int kTries = 100;
  constexpr double kLeastArea = 0.05, kLeastCovered = 0.1, kLeastAspect = 3.0 / 4, kMostAspect = 4.0 / 3;
  const auto pixels = static_cast<double>(width * height);
  for (int i = 0; i < kTries; ++i) {
    const double area = draws.between(kLeastArea, 1) * pixels;
    const double aspect = draws.between(kLeastAspect, kMostAspect);
    const std::int64_t w = std::llround(std::sqrt(area * aspect)), h = std::llround(std::sqrt(area / aspect));
    if (w < 1 || h < 1 || w > width || h > height || static_cast<double>(w * h) < kLeastCovered * pixels)
      continue;
    const std::int64_t left = draws.below(width - w + 1), top = draws.below(height - h + 1);
    return {static_cast<double>(left), static_cast<double>(top), static_cast<double>(w),
            static_cast<double>(h)};
  }
  return {0, 0, static_cast<double>(width), static_cast<double>(height)};
}

namespace {

struct Row {
  const char* name;
  std::unique_ptr<const Preprocessor> (*make)(const PreprocessOptions& options);
};

constexpr Row kRows[] = {
    {"inception", make_inception}, {"vgg", make_vgg}, {"cifarnet", make_cifarnet}, {"lenet", make_lenet}};
constexpr std::int64_t kMaxOutputSide = 4096;

void check_output(const PreprocessOptions& options) {
  const Shape& shape = options.output;
  if (shape.rank() != 3 || (shape[0] != 1 && shape[0] != 3) || shape[1] < 1 || shape[2] < 1 ||
      shape[1] > kMaxOutputSide || shape[2] > kMaxOutputSide)
    fail(ErrorKind::config,
         "preprocessing '{}': output {} is not 1 or 3 channels x height x width, sides of 1 to {}",
         options.name, shape.to_string(), kMaxOutputSide);
}

}  // namespace

const std::vector<std::string>& image_preprocess_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Row& row : kRows) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

void Preprocessor::normalise(const std::uint8_t* pixels, float* out) const {
  to_planes(pixels, channels(), width() * height(), pixel_map(), out);
}

std::unique_ptr<const Preprocessor> make_preprocessor(const PreprocessOptions& options) {
  for (const Row& row : kRows)
    if (options.name == row.name) {
      check_output(options);
      return row.make(options);
    }
  fail(ErrorKind::config, "no preprocessing of images is called '{}'; there are: {}", options.name,
       fmt::join(image_preprocess_names(), ", "));
}

}  // namespace trainyard::data
