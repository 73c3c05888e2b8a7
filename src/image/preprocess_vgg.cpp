// TF-slim's VGG preprocessing. Training: the image scaled so that its shorter side is drawn from 256 to 512
// for an output of 224, and in proportion for others; a random part of the output's size, flipped half the
// time. Evaluation: shorter side 256, the centre. Floats: less the means of ImageNet's channels.
#include <algorithm>
#include <cmath>

#include "image/decode_resized.h"
#include "image/draws.h"
#include "image/gray.h"
#include "image/preprocess_rows.h"

namespace trainyard::image {
namespace {

constexpr double kOutput = 224, kShortest = 256, kLongest = 512;
constexpr float kRedMean = 123.68f, kGreenMean = 116.78f, kBlueMean = 103.94f;
constexpr float kGrayMean =
    static_cast<float>(kRedMean * kRedWeight + kGreenMean * kGreenWeight + kBlueMean * kBlueWeight);

class Vgg : public Preprocessor {
 public:
  using Preprocessor::Preprocessor;

  void train(std::span<const std::byte> encoded, std::uint64_t seed, std::uint8_t* out) const override {
    Draws draws(seed);
    const std::int64_t shortest = scaled(kShortest), longest = scaled(kLongest);
    const std::int64_t side = shortest + draws.below(longest - shortest + 1);
    const double across = draws.unit(), down = draws.unit();
    take(encoded, side, across, down, draws.coin(), out);
  }

  void evaluate(std::span<const std::byte> encoded, std::uint8_t* out) const override {
    take(encoded, scaled(kShortest), 0.5, 0.5, false, out);
  }

  PixelMap pixel_map() const override {
    return {.centre = {channels() == 1 ? kGrayMean : kRedMean, kGreenMean, kBlueMean}};
  }

 private:
  std::int64_t scaled(double side) const {
    return std::llround(side / kOutput * static_cast<double>(std::max(width(), height())));
  }

  // Scales the shorter side to `side`, and takes the output's size at these fractions of what is left over.
  // Scaling all and cutting a window is scaling of that window alone.
  void take(std::span<const std::byte> encoded, std::int64_t side, double across, double down, bool flip,
            std::uint8_t* out) const {
    const auto image = open_image(encoded);
    const double scale =
        static_cast<double>(std::min(image->width(), image->height())) / static_cast<double>(side);
    const auto place = [scale](double fraction, std::int64_t of, std::int64_t wanted) {
      const double left_over = static_cast<double>(of) / scale - static_cast<double>(wanted);
      return std::floor(fraction * (std::floor(left_over) + 1)) * scale;
    };
    const double box_width = static_cast<double>(width()) * scale,
                 box_height = static_cast<double>(height()) * scale;
    const Box box{
        std::min(place(across, image->width(), width()), static_cast<double>(image->width()) - box_width),
        std::min(place(down, image->height(), height()), static_cast<double>(image->height()) - box_height),
        box_width, box_height};
    decode_resized(*image, box, channels(), {width(), height(), ResizeMethod::bilinear, flip}, out);
  }
};

}  // namespace

std::unique_ptr<const Preprocessor> make_vgg(const PreprocessOptions& options) {
  return std::make_unique<Vgg>(options);
}

}  // namespace trainyard::image
