#pragma once

#include <cmath>
#include <cstdint>

#include "base/philox.h"

namespace trainyard {

// A pixel map says how bytes of an image become floats, as plain numbers, for the CPU and for a GPU.
struct PixelMap {
  // The map computes (x - centre of the channel) * scale.
  float centre[3] = {0, 0, 0};
  float scale = 1;
  // If set, the map computes (x - mean) / max(deviation, 1 / sqrt(n)) over all n values of the image instead.
  bool standardise = false;
};

// A recipe says how an image of bytes becomes the floats of a network's input, as plain numbers with their
// arithmetic. The CPU applies it image by image, and a GPU makes whole batches of a resident data set.
struct ImageRecipe {
  // This applies to training; an evaluation always takes the centre, unflipped, at contrast 1.
  enum class Place : std::uint8_t {
    centre,  // crops, or pads with zeros
    random,  // uniform within the image padded by `padding` zeros on all sides; flipped half the time
  };
  Place place = Place::centre;
  std::int32_t padding = 0;
  // If set, the recipe applies contrast, then (x - mean) / max(std, 1 / sqrt(n)) over the n values of all
  // channels.
  bool standardise = false;
  bool random_contrast = false;  // U(0.2, 1.8), as in TensorFlow's CIFAR-10 tutorial
  // Otherwise the recipe computes (x - centre) * scale.
  float centre = 0, scale = 1;
};

// Each constant names the word of a sample's draws that decides one choice. Brightness has a word of its own
// though no recipe computes it (see StandardMap): a recipe that clips could be added without changing the
// others.
enum Draw { kDrawTop, kDrawLeft, kDrawFlipAndBrightness, kDrawContrast };

// The four random words of the sample at a position of the run: the same for any thread, after any resume.
constexpr Philox::Block image_draws(std::uint64_t seed, std::int64_t position) {
  constexpr std::uint64_t kStream = stream_of("augment");
  return Philox(seed, kStream).block(static_cast<std::uint64_t>(position));
}

struct PlaneSize {
  std::int64_t height = 0, width = 0;
};

// ImagePlace is the place of the output's first pixel on the image; a negative coordinate lies in the
// padding.
struct ImagePlace {
  std::int64_t top = 0, left = 0;
  bool flip = false;  // mirror left and right
};

// The result is rounded down also when negative, as TensorFlow's crop-or-pad does.
constexpr std::int64_t centred(std::int64_t outer, std::int64_t inner) {
  return outer >= inner ? (outer - inner) / 2 : -((inner - outer) / 2);
}

constexpr ImagePlace centre_place(PlaneSize image, PlaneSize output) {
  return {centred(image.height, output.height), centred(image.width, output.width), false};
}

constexpr std::int64_t scaled_draw(std::uint32_t word, std::int64_t range) {
  return static_cast<std::int64_t>((std::uint64_t{word} * static_cast<std::uint64_t>(range)) >> 32);
}

constexpr ImagePlace random_place(PlaneSize image, PlaneSize output, std::int64_t padding,
                                  const Philox::Block& draws) {
  return {scaled_draw(draws[kDrawTop], image.height + 2 * padding - output.height + 1) - padding,
          scaled_draw(draws[kDrawLeft], image.width + 2 * padding - output.width + 1) - padding,
          draws[kDrawFlipAndBrightness] >> 31 != 0};
}

constexpr ImagePlace training_place(const ImageRecipe& recipe, PlaneSize image, PlaneSize output,
                                    const Philox::Block& draws) {
  return recipe.place == ImageRecipe::Place::random ? random_place(image, output, recipe.padding, draws)
                                                    : centre_place(image, output);
}

constexpr float training_contrast(const ImageRecipe& recipe, const Philox::Block& draws) {
  return recipe.random_contrast ? 0.2f + 1.6f * to_unit_float(draws[kDrawContrast]) : 1.0f;
}

// Sums over the pixels of a window; integers, so exact and free of the order of summation.
struct WindowSums {
  double sum = 0, squares = 0;
  double squared_sums = 0;  // the square of each channel's sum, summed over channels
};

// With m_c, v_c the mean and variance of channel c in the window, contrast k makes k (x - m_c) + m_c; its
// mean over the image is still M = mean(m_c), and its variance is mean_c(k^2 v_c + (m_c - M)^2). So contrast
// and standardising are one affine map per channel. Brightness would add the same to x, m_c and M, and
// cancels exactly. A template, because the standard library's root is no constant expression.
template <typename Real>
struct StandardMap {
  Real pixels, contrast, mean;
  float scale;

  constexpr StandardMap(const WindowSums& sums, std::int64_t channels, std::int64_t pixels_of_a_channel,
                        float wanted_contrast)
      : pixels(static_cast<Real>(pixels_of_a_channel)), contrast(wanted_contrast) {
    const Real values = pixels * static_cast<Real>(channels);
    mean = sums.sum / values;
    const Real within = sums.squares - sums.squared_sums / pixels,
               between = sums.squared_sums / pixels - sums.sum * mean;
    const Real variance = (contrast * contrast * within + between) / values;
    const Real deviation = std::sqrt(variance > 0 ? variance : Real{0}), least = 1 / std::sqrt(values);
    scale = static_cast<float>(contrast / (deviation > least ? deviation : least));
  }

  // Output of channel c = (x - centre) * scale.
  constexpr float centre(Real channel_sum) const {
    const Real channel_mean = channel_sum / pixels;
    return static_cast<float>(contrast == 1 ? mean : channel_mean - (channel_mean - mean) / contrast);
  }
};

}  // namespace trainyard
