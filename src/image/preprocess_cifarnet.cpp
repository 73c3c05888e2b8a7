// TF-slim's CifarNet preprocessing. Training: padded by 4 zeros on all sides, a random part of the output's
// size, flipped half the time. Evaluation: the image as it is. Images of another size are resized first.
// Floats: (x - mean) / max(deviation, 1 / sqrt(n)) over all n values of the image. The original also draws a
// brightness and a contrast. The brightness cancels in that exactly, and the contrast but for how far the
// channels' means lie apart (see StandardMap), both while the deviation is above its floor. They are left
// out: bytes would clip them.
#include "image/decode_resized.h"
#include "image/draws.h"
#include "image/place_image.h"
#include "image/preprocess_rows.h"

namespace trainyard::image {
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

std::unique_ptr<const Preprocessor> make_cifarnet(const PreprocessOptions& options) {
  return std::make_unique<Cifarnet>(options);
}

}  // namespace trainyard::image
