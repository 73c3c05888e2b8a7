#include "data/decode/image.h"

namespace trainyard::data {

namespace {

WindowSums sum_bytes(const std::uint8_t* bytes, std::int64_t count) {
  constexpr std::int64_t kBlock = 16'384;  // as many squares of a byte as surely fit into 31 bits
  WindowSums total;
  for (std::int64_t at = 0; at < count; at += kBlock) {
    std::int32_t sum = 0, squares = 0;
    for (std::int64_t i = at; i < std::min(at + kBlock, count); ++i) {
      sum += bytes[i];
      squares += bytes[i] * bytes[i];
    }
    total.sum += sum;
    total.squares += squares;
  }
  return total;
}

PixelMap standard_map(const std::uint8_t* bytes, std::int64_t count) {
  const WindowSums sums = sum_bytes(bytes, count);
  // All channels as one: at contrast 1 only the sums over all of them count.
  const StandardMap<double> map(sums, 1, count, 1);
  const float centre = map.centre(sums.sum);
  return {.centre = {centre, centre, centre}, .scale = map.scale};
}

}  // namespace

void to_planes(const std::uint8_t* __restrict from, std::int64_t channels, std::int64_t pixels,
               const PixelMap& map, float* __restrict out) {
  if (map.standardise) return to_planes(from, channels, pixels, standard_map(from, channels * pixels), out);
  const float first = map.centre[0], second = map.centre[1], third = map.centre[2], scale = map.scale;
  if (channels == 1) {
    for (std::int64_t i = 0; i < pixels; ++i) out[i] = (static_cast<float>(from[i]) - first) * scale;
    return;
  }
  float *red = out, *green = out + pixels, *blue = out + 2 * pixels;
  for (std::int64_t i = 0; i < pixels; ++i) {
    red[i] = (static_cast<float>(from[3 * i]) - first) * scale;
    green[i] = (static_cast<float>(from[3 * i + 1]) - second) * scale;
    blue[i] = (static_cast<float>(from[3 * i + 2]) - third) * scale;
  }
}

void place_image(const Image& image, const ImagePlace& place, PlaneSize output, std::uint8_t* out) {
  const std::int64_t channels = image.channels();
  const std::int64_t left = std::clamp<std::int64_t>(-place.left, 0, output.width);
  const std::int64_t right = std::clamp(image.width() - place.left, left, output.width);
  for (std::int64_t y = 0; y < output.height; ++y, out += output.width * channels) {
    const std::int64_t from_y = place.top + y;
    const bool inside = from_y >= 0 && from_y < image.height() && left < right;
    if (!inside || right - left < output.width)
      std::memset(out, 0, static_cast<std::size_t>(output.width * channels));
    if (!inside) continue;
    const std::uint8_t* from = image.row(from_y) + (place.left + left) * channels;
    if (!place.flip) {
      std::memcpy(out + left * channels, from, static_cast<std::size_t>((right - left) * channels));
      continue;
    }
    for (std::int64_t x = left; x < right; ++x, from += channels)
      for (std::int64_t c = 0; c < channels; ++c) out[(output.width - 1 - x) * channels + c] = from[c];
  }
}

}  // namespace trainyard::data
