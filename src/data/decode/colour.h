#pragma once

#include <cstdint>
#include <span>

namespace trainyard::data {

// Of colours in [0, 1], as TensorFlow's image ops of these names do it. Saturation and hue leave gray images
// as they are.
enum class ColourChange {
  brightness,  // x + amount
  saturation,  // of hue, saturation and value (HSV) the second, times amount, at most 1
  hue,         // of HSV the first, turned by amount, -0.5 to 0.5: 1 would be once around
  contrast,    // (x - mean) amount + mean, with each channel's mean over the image
};

struct ColourStep {
  ColourChange change;
  float amount;
};

// The steps in order, on an image of so many pixels of 1 or 3 channels. Between them nothing is rounded or
// clipped; afterwards both.
void change_colours(std::span<const ColourStep> steps, std::int64_t pixels, std::int64_t channels,
                    std::uint8_t* image);

}  // namespace trainyard::data
