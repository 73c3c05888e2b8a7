#include "data/standardise.h"

#include <algorithm>
#include <cmath>

namespace trainyard::data {

float random_contrast(const Philox::Block& draws) {
  return 0.2f + 1.6f * to_unit_float(draws[kDrawContrast]);
}

void standardise_window(const Sizes& sizes, const std::uint8_t* image, const Window& window, float contrast,
                        float* out) {
  const std::int64_t channels = sizes.input[0], plane = sizes.input[1] * sizes.input[2],
                     count = window.pixels();
  const double pixels = static_cast<double>(count), values = pixels * static_cast<double>(channels);
  std::int16_t* scratch = window_scratch(channels * count);
  double sum = 0, squares = 0, squared_sums = 0;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    copy_window(image + channel * plane, window, scratch + channel * count);
    const PixelSums sums = sum_pixels(scratch + channel * count, count);
    const auto channel_sum = static_cast<double>(sums.sum);
    sum += channel_sum;
    squares += static_cast<double>(sums.squares);
    squared_sums += channel_sum * channel_sum;
  }
  const double k = contrast, mean = sum / values;
  const double within = squares - squared_sums / pixels, between = squared_sums / pixels - sum * mean;
  const double deviation = std::sqrt(std::max(k * k * within + between, 0.0) / values);
  const double divisor = std::max(deviation, 1 / std::sqrt(values));
  const auto scale = static_cast<float>(k / divisor);
  if (contrast == 1.0f) {
    map_pixels(scratch, channels * count, static_cast<float>(mean), scale, out);
    return;
  }
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const std::int16_t* from = scratch + channel * count;
    // Summing again is cheaper than keeping room for the sums of any number of channels.
    const double channel_mean = static_cast<double>(sum_pixels(from, count).sum) / pixels;
    const double centre = channel_mean - (channel_mean - mean) / k;
    map_pixels(from, count, static_cast<float>(centre), scale, out + channel * count);
  }
}

}  // namespace trainyard::data
