#include "data/decode/colour.h"

namespace trainyard::data {

namespace {

// Pixels that are worked on together, channel by channel: their floats stay in the fastest cache. Whole
// numbers of vectors, so that no loop has a remainder but in the last block.
constexpr std::int64_t kBlock = 1024;
constexpr int kLanes = 16;

// Channels of a block of pixels in [0, 255] times 1 / 255; of gray images only the first is used.
struct Block {
  alignas(64) float red[kBlock], green[kBlock], blue[kBlock];
};

inline float least(float a, float b) { return a < b ? a : b; }
inline float most(float a, float b) { return a > b ? a : b; }
inline float within(float x, float low, float high) { return least(most(x, low), high); }

void load(const std::uint8_t* __restrict from, std::int64_t channels, std::int64_t count,
          Block& __restrict block) {
  constexpr float kScale = 1.0f / 255;
  if (channels == 1) {
    for (std::int64_t i = 0; i < count; ++i) block.red[i] = static_cast<float>(from[i]) * kScale;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    block.red[i] = static_cast<float>(from[3 * i]) * kScale;
    block.green[i] = static_cast<float>(from[3 * i + 1]) * kScale;
    block.blue[i] = static_cast<float>(from[3 * i + 2]) * kScale;
  }
}

inline std::uint8_t to_byte(float x) {
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(within(x, 0, 1) * 255 + 0.5f));
}

void store(const Block& __restrict block, std::int64_t channels, std::int64_t count,
           std::uint8_t* __restrict to) {
  if (channels == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = to_byte(block.red[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    to[3 * i] = to_byte(block.red[i]);
    to[3 * i + 1] = to_byte(block.green[i]);
    to[3 * i + 2] = to_byte(block.blue[i]);
  }
}

// Every colour of a hue and a value v = max lies at v - (v - c) s' / s when s becomes s'. So no hue is
// needed. Where brightness or contrast left a negative channel, s is above 1, and 1 afterwards.
void saturate(Block& block, std::int64_t count, float amount) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float r = block.red[i], g = block.green[i], b = block.blue[i];
    const float value = most(most(r, g), b), range = value - least(least(r, g), b);
    const float factor = most(least(amount, value / most(range, 1e-12f)), 0);
    block.red[i] = value - (value - r) * factor;
    block.green[i] = value - (value - g) * factor;
    block.blue[i] = value - (value - b) * factor;
  }
}

// The hue counted in sixths of the circle; each channel is a trapezium over it.
void turn_hue(Block& block, std::int64_t count, float amount) {
  const float turn = amount * 6;
  for (std::int64_t i = 0; i < count; ++i) {
    const float r = block.red[i], g = block.green[i], b = block.blue[i];
    const float value = most(most(r, g), b), low = least(least(r, g), b), range = value - low;
    const float per_range = 1 / most(range, 1e-12f);
    float hue = value == r   ? (g - b) * per_range
                : value == g ? (b - r) * per_range + 2
                             : (r - g) * per_range + 4;
    hue += turn;
    hue = hue < 0 ? hue + 6 : hue;
    hue = hue >= 6 ? hue - 6 : hue;
    const float from_red = hue - 3, from_green = hue - 2, from_blue = hue - 4;
    block.red[i] = low + range * within(most(from_red, -from_red) - 1, 0, 1);
    block.green[i] = low + range * within(2 - most(from_green, -from_green), 0, 1);
    block.blue[i] = low + range * within(2 - most(from_blue, -from_blue), 0, 1);
  }
}

void scale_and_shift(float* values, std::int64_t count, float scale, float shift) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = values[i] * scale + shift;
}

// One float a lane: in the same order on every machine, and vectorised.
double sum(const float* values, std::int64_t count) {
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  double total = 0;
  for (const float lane : lanes) total += static_cast<double>(lane);
  for (; i < count; ++i) total += static_cast<double>(values[i]);
  return total;
}

struct Means {
  double red = 0, green = 0, blue = 0;  // sums while they are made
};

void apply(const ColourStep& step, const Means& means, std::int64_t channels, std::int64_t count,
           Block& block) {
  const auto all = [&](float scale, double red, double green, double blue) {
    scale_and_shift(block.red, count, scale, static_cast<float>(red));
    if (channels == 1) return;
    scale_and_shift(block.green, count, scale, static_cast<float>(green));
    scale_and_shift(block.blue, count, scale, static_cast<float>(blue));
  };
  const double amount = static_cast<double>(step.amount), rest = 1 - amount;
  switch (step.change) {
    case ColourChange::brightness:
      return all(1, amount, amount, amount);
    case ColourChange::contrast:
      return all(step.amount, means.red * rest, means.green * rest, means.blue * rest);
    case ColourChange::saturation:
      return channels == 1 ? void() : saturate(block, count, step.amount);
    case ColourChange::hue:
      return channels == 1 ? void() : turn_hue(block, count, step.amount);
  }
}

bool is_contrast(const ColourStep& step) { return step.change == ColourChange::contrast; }

}  // namespace

void change_colours(std::span<const ColourStep> steps, std::int64_t pixels, std::int64_t channels,
                    std::uint8_t* image) {
  // Blocks are kept only where a contrast has to wait for the mean of all of them.
  const bool waits = std::any_of(steps.begin(), steps.end(), is_contrast);
  const std::int64_t blocks = (pixels + kBlock - 1) / kBlock;
  thread_local std::vector<Block> scratch;
  const auto room = static_cast<std::size_t>(waits ? blocks : 1);
  if (scratch.size() < room) scratch.resize(room);
  Means means;
  for (bool first = true, last = false; !last; first = false) {
    auto until = std::find_if(steps.begin() + (first || steps.empty() ? 0 : 1), steps.end(), is_contrast);
    last = until == steps.end();
    Means sums;
    for (std::int64_t at = 0; at < pixels; at += kBlock) {
      const std::int64_t count = std::min(kBlock, pixels - at);
      Block& block = scratch[static_cast<std::size_t>(waits ? at / kBlock : 0)];
      if (first) load(image + at * channels, channels, count, block);
      for (auto step = steps.begin(); step != until; ++step) apply(*step, means, channels, count, block);
      if (last) {
        store(block, channels, count, image + at * channels);
        continue;
      }
      sums.red += sum(block.red, count);
      if (channels == 1) continue;
      sums.green += sum(block.green, count);
      sums.blue += sum(block.blue, count);
    }
    const auto n = static_cast<double>(pixels);
    means = {sums.red / n, sums.green / n, sums.blue / n};
    steps = steps.subspan(static_cast<std::size_t>(until - steps.begin()));
  }
}

}  // namespace trainyard::data
