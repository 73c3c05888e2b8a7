// TF-slim's LeNet preprocessing, the same for training and evaluation: the centre, or all of a smaller image
// padded by zeros. Floats: (x - 128) / 128.
#include <algorithm>

#include "image/decode_resized.h"
#include "image/place_image.h"
#include "image/preprocess_rows.h"

namespace trainyard::image {
namespace {

class Lenet : public Preprocessor {
 public:
  using Preprocessor::Preprocessor;

  void train(std::span<const std::byte> encoded, std::uint64_t, std::uint8_t* out) const override {
    evaluate(encoded, out);
  }

  void evaluate(std::span<const std::byte> encoded, std::uint8_t* out) const override {
    const auto image = open_image(encoded);
    const PlaneSize size{image->height(), image->width()}, output{height(), width()};
    const ImagePlace place = centre_place(size, output);
    const std::int64_t left = std::max<std::int64_t>(place.left, 0),
                       top = std::max<std::int64_t>(place.top, 0);
    const Box seen{static_cast<double>(left), static_cast<double>(top),
                   static_cast<double>(std::min(width(), size.width)),
                   static_cast<double>(std::min(height(), size.height))};
    Image& decoded = decode_scratch();
    const Box found = image->decode({.box = seen, .channels = channels()}, decoded);
    const ImagePlace there{static_cast<std::int64_t>(found.top) + place.top - top,
                           static_cast<std::int64_t>(found.left) + place.left - left, false};
    place_image(decoded, there, output, out);
  }

  PixelMap pixel_map() const override { return {.centre = {128, 128, 128}, .scale = 1.0f / 128}; }
};

}  // namespace

std::unique_ptr<const Preprocessor> make_lenet(const PreprocessOptions& options) {
  return std::make_unique<Lenet>(options);
}

}  // namespace trainyard::image
