// This file holds TF-slim's preprocessing for CifarNet, LeNet and VGG. CifarNet, training: the image is
// padded by 4 zeros on all sides, and a random part of the output's size is taken and flipped half the time.
// Evaluation: the image as it is. Images of another size are resized first. Floats: (x - mean) /
// max(deviation, 1 / sqrt(n)) over all n values of the image. The original also draws a brightness and a
// contrast. The brightness cancels in that exactly, and the contrast except for the distance of the channels'
// means (see StandardMap), both while the deviation is above its floor. They are left out: bytes would clip
// them.

#include "data/decode/decode.h"
#include "data/decode/image.h"
#include "data/recipe/preprocess.h"

namespace trainyard::data {

namespace {

constexpr std::int64_t kPadding = 4;

class Cifarnet : public Preprocessor {
 public:
  using Preprocessor::Preprocessor;

  void train(std::span<const std::byte> encoded, std::uint64_t seed, std::uint8_t* out) const override {
    thread_local Image fitted;
    fitted.reshape(width(), height(), channels());
    evaluate(encoded, fitted.data());
    Draws draws(seed);
    const std::int64_t top = draws.below(2 * kPadding + 1) - kPadding,
                       left = draws.below(2 * kPadding + 1) - kPadding;
    place_image(fitted, {top, left, draws.coin()}, {height(), width()}, out);
  }

  // Resizing to the size an image has gives back every byte.
  void evaluate(std::span<const std::byte> encoded, std::uint8_t* out) const override {
    const auto image = open_image(encoded);
    decode_resized(*image, image->whole(), channels(), {width(), height()}, out);
  }

  PixelMap pixel_map() const override { return {.standardise = true}; }
};

}  // namespace

std::unique_ptr<const Preprocessor> make_cifarnet_slim(const PreprocessOptions& options) {
  return std::make_unique<Cifarnet>(options);
}

// TF-slim's LeNet preprocessing is the same for training and evaluation: it takes the centre, or all of a
// smaller image padded by zeros. Floats are (x - 128) / 128.

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

std::unique_ptr<const Preprocessor> make_lenet_slim(const PreprocessOptions& options) {
  return std::make_unique<Lenet>(options);
}

// This is TF-slim's VGG preprocessing. Training scales the image so that its shorter side is drawn from 256
// to 512 for an output of 224, and in proportion for others; it takes a random part of the output's size and
// flips it half the time. Evaluation scales the shorter side to 256 and takes the centre. Floats are less the
// means of ImageNet's channels.

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

}  // namespace trainyard::data
