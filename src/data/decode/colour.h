#pragma once

#include "base/standard.h"

namespace trainyard::data {

// Each change works on colours in [0, 1], as TensorFlow's image ops of these names do. Saturation and hue
// leave gray images as they are.
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

// Applies the steps in order to an image of this many pixels of 1 or 3 channels. Nothing is rounded or
// clipped between the steps; the result is both.
void change_colours(std::span<const ColourStep> steps, std::int64_t pixels, std::int64_t channels,
                    std::uint8_t* image);

}  // namespace trainyard::data
