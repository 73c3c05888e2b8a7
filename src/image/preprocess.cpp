#include "image/preprocess.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "image/planes.h"
#include "image/preprocess_rows.h"

namespace trainyard::image {
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

const std::vector<std::string>& preprocess_names() {
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
       fmt::join(preprocess_names(), ", "));
}

}  // namespace trainyard::image
