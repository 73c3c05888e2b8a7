#pragma once

#include "base/philox.h"
#include "data/decode/image.h"
#include "tensor/image_recipe.h"
#include "tensor/tensor.h"

namespace trainyard::data {

// Draws holds the random numbers of one image, in the order in which they are asked for.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : philox_(seed, stream_of("preprocess")) {}

  std::uint32_t word() { return philox_.word(next_++); }
  double unit() { return static_cast<double>(to_unit_float(word())); }  // [0, 1)
  double between(double low, double high) { return low + (high - low) * unit(); }
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>((std::uint64_t{word()} * static_cast<std::uint64_t>(count)) >> 32);
  }
  bool coin() { return word() >> 31 != 0; }

 private:
  Philox philox_;
  std::uint64_t next_ = 0;
};

// Draws a box of 5 to 100 % of an image's area and with sides in a ratio of 3/4 to 4/3, both drawn evenly,
// anywhere in it. Less than a tenth of the image is drawn again, as TensorFlow's
// sample_distorted_bounding_box does when the whole image is the object; after 100 tries it is the whole
// image.
Box random_box(std::int64_t width, std::int64_t height, Draws& draws);

struct PreprocessOptions {
  std::string name = "inception";  // one of recipe_names(SampleKind::encoded)
  Shape output = {3, 224, 224};    // C, H, W
  bool fast = false;  // inception: bilinear only, no hue and contrast; no difference to the others
};

// A preprocessor turns an encoded image into the bytes that are passed on, and those, where they are used,
// into a network's floats. Its functions are pure functions of (image, seed). Any number of threads may use
// it at once.
class Preprocessor {
 public:
  explicit Preprocessor(const PreprocessOptions& options) : options_(options) {}
  virtual ~Preprocessor() = default;
  const PreprocessOptions& options() const { return options_; }
  std::int64_t sample_bytes() const { return options_.output.elements(); }  // of the output, H x W x C

  // Prepares an image for training, random by `seed` alone. Error (config) when the image is damaged.
  virtual void train(std::span<const std::byte> encoded, std::uint64_t seed, std::uint8_t* out) const = 0;
  // Prepares an image for evaluation, without anything random.
  virtual void evaluate(std::span<const std::byte> encoded, std::uint8_t* out) const = 0;
  // Returns the map from these bytes to floats, applied where they are used.
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

// The registry names these. REQUIRES: an output that check_image_output takes.
std::unique_ptr<const Preprocessor> make_inception(const PreprocessOptions& options);
std::unique_ptr<const Preprocessor> make_vgg(const PreprocessOptions& options);
std::unique_ptr<const Preprocessor> make_cifarnet_slim(const PreprocessOptions& options);
std::unique_ptr<const Preprocessor> make_lenet_slim(const PreprocessOptions& options);

// Error (config) for an output that no encoded image can become.
void check_image_output(const std::string& recipe, const Shape& output);

// Takes the former names of renamed_recipe() too. Throws an Error (config) for invalid options.
std::unique_ptr<const Preprocessor> make_preprocessor(const PreprocessOptions& options);

}  // namespace trainyard::data
