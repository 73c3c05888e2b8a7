#pragma once

#include "tensor/image_recipe.h"
#include "tensor/tensor.h"

namespace trainyard::data {

// A window is a rectangle of an image plane that becomes the output plane. Places outside the plane read as
// zero.
struct Window {
  std::int64_t plane_height = 0, plane_width = 0;
  std::int64_t top = 0, left = 0;  // negative: padding
  std::int64_t height = 0, width = 0;
  bool flip = false;  // mirror left and right

  std::int64_t pixels() const { return height * width; }
  bool covers_plane() const {
    return top == 0 && left == 0 && height == plane_height && width == plane_width && !flip;
  }
};

// The rows of a window are short and not aligned (24 bytes for CIFAR). Laid out once as whole 16-bit numbers
// without gaps, the sums and the map below are long loops that vectorise with no remainder to speak of.
void copy_window(const std::uint8_t* plane, const Window& window, std::int16_t* out);

// Returns a buffer for these numbers, one per thread: it grows to the largest image and stays.
std::int16_t* window_scratch(std::int64_t pixels);

struct PixelSums {
  std::int64_t sum = 0, squares = 0;
};

// The sums are integers, so exact and independent of the order of summation. REQUIRES: pixels in 0 .. 255.
PixelSums sum_pixels(const std::int16_t* pixels, std::int64_t count);

// out = (pixel - centre) * scale. A pixel that equals the centre gives exactly zero.
void map_pixels(const std::int16_t* pixels, std::int64_t count, float centre, float scale, float* out);
void map_pixels(const std::uint8_t* pixels, std::int64_t count, float centre, float scale, float* out);

struct Recipe;

// Says how bytes become floats: a recipe and the size that the network takes.
struct Preprocess {
  std::string name = "unit";  // of the registry (registry.h)
  Shape output;               // C, h, w; rank 0: what the recipe makes of decoded images by itself
};

// Binds one recipe of decoded images to its sizes. It allocates nothing per image; thread-safe.
class Augment {
 public:
  // Error (config) for an unknown name, or for a size that the recipe cannot reach from `input` (C, H, W).
  Augment(const Preprocess& preprocess, const Shape& input);

  const Shape& input() const { return input_; }
  const Shape& output() const { return output_; }
  const ImageRecipe& recipe() const;

  // One image of bytes to floats. All randomness is in `draws`: see image_draws().
  void train(const std::uint8_t* image, const Philox::Block& draws, float* out) const;
  void evaluate(const std::uint8_t* image, float* out) const;

 private:
  const Recipe* recipe_;
  Shape input_, output_;
};

}  // namespace trainyard::data
