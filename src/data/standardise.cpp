#include "data/standardise.h"

#include <algorithm>
#include <cmath>

namespace trainyard::data {

float random_contrast(const Philox::Block& draws) {
  return 0.2f + 1.6f * to_unit_float(draws[kDrawContrast]);
}

void standardise_window(const Sizes& sizes, const std::uint8_t* image, const Window& window, float contrast,
                        float* out) {
  const std::int64_t channels = sizes.input[0], plane = sizes.input[1] * sizes.input[2];
  const double pixels = static_cast<double>(window.height * window.width);
  const double values = pixels * static_cast<double>(channels);
  double sum = 0, squares = 0, squared_sums = 0;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const WindowSums sums = sum_window(image + channel * plane, window);
    const auto channel_sum = static_cast<double>(sums.sum);
    sum += channel_sum;
    squares += static_cast<double>(sums.squares);
    squared_sums += channel_sum * channel_sum;
  }
  const double k = contrast, mean = sum / values;
  const double within = squares - squared_sums / pixels, between = squared_sums / pixels - sum * mean;
  const double deviation = std::sqrt(std::max(k * k * within + between, 0.0) / values);
  const double divisor = std::max(deviation, 1 / std::sqrt(values));
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    // Without contrast every channel has the same centre; else sum again, which is cheaper than keeping the
    // sums of any number of channels.
    double centre = mean;
    if (contrast != 1.0f) {
      const double channel_mean =
          static_cast<double>(sum_window(image + channel * plane, window).sum) / pixels;
      centre = channel_mean - (channel_mean - mean) / k;
    }
    map_window(image + channel * plane, window, static_cast<float>(centre), static_cast<float>(k / divisor),
               out + channel * window.height * window.width);
  }
}

}  // namespace trainyard::data
