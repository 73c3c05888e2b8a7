#pragma once

#include "base/standard.h"

namespace trainyard::data {

// Holds the properties that the first bytes of an image file declare.
struct ImageHeader {
  std::string format;  // "jpeg", "png"
  int height = 0, width = 0;
};

// Returns nothing when the bytes are neither a JPEG nor a PNG, or end before the size. Decodes nothing.
std::optional<ImageHeader> read_image_header(std::span<const std::byte> file);

struct PhotoOptions {
  std::int64_t images = 1000;
  int classes = 10;
  int min_pixels = 256, max_pixels = 500;  // of each side
  std::uint64_t seed = 1;
};

struct Photo {
  std::int32_t label = 0;
  int height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // (height, width, RGB)
};

// Paints pictures that cost as much to decode and shrink as photos, and can be learnt: a disc with the
// pattern and colours of its class, with random rotation, scale, light and place, before a background and
// behind clutter that carry no information. A photo depends on (seed, split, index) alone. Thread-safe.
class PhotoPainter {
 public:
  // Error (config) when an option is out of range.
  PhotoPainter(const PhotoOptions& options, const std::string& split);

  Photo paint(std::int64_t index) const;

 private:
  using Colour = std::array<float, 3>;
  enum class Pattern { stripes, checks, rings };

  struct Look {  // of a class
    Colour dark, light;
    float angle = 0, waves = 0;  // radians; along the radius
    Pattern pattern = Pattern::stripes;
  };
  struct Scene;

  Scene arrange(std::int64_t index) const;
  float pattern_at(const Look& look, float u, float v) const;
  float wave(float turns) const {
    return waves_[static_cast<std::uint32_t>(static_cast<int>(turns * kSteps)) % kSteps];
  }

  static constexpr std::uint32_t kSteps = 1024;  // of the table of a cosine
  const PhotoOptions options_;
  const std::uint64_t stream_;
  std::vector<Look> looks_;
  std::array<float, kSteps> waves_;
};

}  // namespace trainyard::data
