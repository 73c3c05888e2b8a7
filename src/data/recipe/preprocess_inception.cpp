// This file has TF-slim's Inception preprocessing. Training takes a random box, resizes it to the output
// whatever its shape by a method drawn for the image, flips it half the time, and changes colours in one of
// four orders. Evaluation takes the central 87.5 % of each side, bilinear. Floats lie in [-1, 1].

#include "data/decode/colour.h"
#include "data/decode/decode.h"
#include "data/recipe/preprocess.h"

namespace trainyard::data {

namespace {

using enum ColourChange;

constexpr std::array<std::array<ColourChange, 4>, 4> kOrders = {{{brightness, saturation, hue, contrast},
                                                                 {saturation, brightness, contrast, hue},
                                                                 {contrast, hue, brightness, saturation},
                                                                 {hue, saturation, contrast, brightness}}};
constexpr std::array<ResizeMethod, 4> kMethods = {ResizeMethod::bilinear, ResizeMethod::nearest,
                                                  ResizeMethod::bicubic, ResizeMethod::area};

float draw_amount(ColourChange change, Draws& draws) {
  switch (change) {
    case brightness:
      return static_cast<float>(draws.between(-32.0 / 255, 32.0 / 255));
    case hue:
      return static_cast<float>(draws.between(-0.2, 0.2));
    case saturation:
    case contrast:
      return static_cast<float>(draws.between(0.5, 1.5));
  }
  return 0;
}

Box central(std::int64_t width, std::int64_t height) {
  constexpr double kCut = (1 - 0.875) / 2;
  const auto left = static_cast<double>(static_cast<std::int64_t>(static_cast<double>(width) * kCut)),
             top = static_cast<double>(static_cast<std::int64_t>(static_cast<double>(height) * kCut));
  return {left, top, static_cast<double>(width) - 2 * left, static_cast<double>(height) - 2 * top};
}

class Inception : public Preprocessor {
 public:
  using Preprocessor::Preprocessor;

  void train(std::span<const std::byte> encoded, std::uint64_t seed, std::uint8_t* out) const override {
    Draws draws(seed);
    const auto image = open_image(encoded);
    const Box box = random_box(image->width(), image->height(), draws);
    const ResizeMethod method =
        options().fast ? ResizeMethod::bilinear : kMethods[static_cast<std::size_t>(draws.below(4))];
    const bool flip = draws.coin();
    decode_resized(*image, box, channels(), {width(), height(), method, flip}, out);
    const std::array<ColourChange, 4>& order = kOrders[static_cast<std::size_t>(draws.below(4))];
    std::array<ColourStep, 4> steps;
    std::size_t count = 0;
    for (const ColourChange change : order) {
      if (options().fast && (change == hue || change == contrast)) continue;
      steps[count++] = {change, draw_amount(change, draws)};
    }
    change_colours({steps.data(), count}, width() * height(), channels(), out);
  }

  void evaluate(std::span<const std::byte> encoded, std::uint8_t* out) const override {
    const auto image = open_image(encoded);
    decode_resized(*image, central(image->width(), image->height()), channels(), {width(), height()}, out);
  }

  PixelMap pixel_map() const override {
    constexpr float kMiddle = 127.5f;
    return {.centre = {kMiddle, kMiddle, kMiddle}, .scale = 1 / kMiddle};
  }
};

}  // namespace

std::unique_ptr<const Preprocessor> make_inception(const PreprocessOptions& options) {
  return std::make_unique<Inception>(options);
}

}  // namespace trainyard::data
