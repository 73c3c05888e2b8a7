#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/pixel_map.h"
#include "tensor/shape.h"

namespace trainyard::image {

struct PreprocessOptions {
  std::string name = "inception";  // one of preprocess_names()
  Shape output = {3, 224, 224};    // C, H, W
  bool fast = false;  // inception: bilinear only, no hue and contrast; no difference to the others
};

const std::vector<std::string>& preprocess_names();

// Makes of an encoded image the bytes that are passed on, and of those, where they are used, a network's
// floats. Pure functions of (image, seed). Used by any number of threads at once.
class Preprocessor {
 public:
  explicit Preprocessor(const PreprocessOptions& options) : options_(options) {}
  virtual ~Preprocessor() = default;
  const PreprocessOptions& options() const { return options_; }
  std::int64_t sample_bytes() const { return options_.output.elements(); }  // of the output, H x W x C

  // For training: random by `seed` alone. Error (config) when the image is damaged.
  virtual void train(std::span<const std::byte> encoded, std::uint64_t seed, std::uint8_t* out) const = 0;
  // For evaluation: nothing random.
  virtual void evaluate(std::span<const std::byte> encoded, std::uint8_t* out) const = 0;
  // What becomes of the bytes where they are used.
  virtual PixelMap pixel_map() const = 0;
  // (H, W, C) bytes to (C, H, W) floats.
  void normalise(const std::uint8_t* pixels, float* out) const;

 protected:
  std::int64_t channels() const { return options_.output[0]; }
  std::int64_t height() const { return options_.output[1]; }
  std::int64_t width() const { return options_.output[2]; }

 private:
  PreprocessOptions options_;
};

// Error (config) for options it cannot have.
std::unique_ptr<const Preprocessor> make_preprocessor(const PreprocessOptions& options);

}  // namespace trainyard::image
