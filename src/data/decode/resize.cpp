#include "data/decode/resize.h"

#include "base/error.h"

namespace trainyard::data {

namespace {

double keys_kernel(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * kA - 4 * kA;
  return 0;
}

// Returns the first place that output centre c reads, of a method's `taps`.
std::int64_t first_place(ResizeMethod method, double centre, double step) {
  switch (method) {
    case ResizeMethod::nearest:
      return static_cast<std::int64_t>(std::floor(centre));
    case ResizeMethod::bilinear:
      return static_cast<std::int64_t>(std::floor(centre - 0.5));
    case ResizeMethod::bicubic:
      return static_cast<std::int64_t>(std::floor(centre - 0.5)) - 1;
    case ResizeMethod::area:
      return static_cast<std::int64_t>(std::floor(centre - step / 2));
  }
  return 0;
}

double weight(ResizeMethod method, double centre, double step, std::int64_t place) {
  const auto left = static_cast<double>(place);
  switch (method) {
    case ResizeMethod::nearest:
      return 1;
    case ResizeMethod::bilinear:
      return std::max(0.0, 1 - std::abs(left + 0.5 - centre));
    case ResizeMethod::bicubic:
      return keys_kernel(left + 0.5 - centre);
    case ResizeMethod::area:
      return std::max(0.0, std::min(left + 1, centre + step / 2) - std::max(left, centre - step / 2)) / step;
  }
  return 0;
}

std::int64_t taps_of(ResizeMethod method, double step) {
  switch (method) {
    case ResizeMethod::nearest:
      return 1;
    case ResizeMethod::bilinear:
      return 2;
    case ResizeMethod::bicubic:
      return 4;
    case ResizeMethod::area:
      return static_cast<std::int64_t>(std::ceil(step)) + 1;
  }
  return 1;
}

}  // namespace

void plan_axis(ResizeMethod method, double begin, double length, std::int64_t size, std::int64_t outputs,
               bool flip, Axis& axis) {
  axis.begin = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(begin)), 0, size - 1);
  axis.end =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(begin + length)), axis.begin + 1, size);
  const double step = length / static_cast<double>(outputs);
  const std::int64_t wanted = taps_of(method, step);
  axis.taps = std::min(wanted, axis.end - axis.begin);
  axis.first.resize(static_cast<std::size_t>(outputs));
  axis.weights.assign(static_cast<std::size_t>(outputs * axis.taps), 0.0f);
  for (std::int64_t i = 0; i < outputs; ++i) {
    const double centre = begin + (static_cast<double>(i) + 0.5) * step;
    const std::int64_t from = first_place(method, centre, step), to = flip ? outputs - 1 - i : i;
    const std::int64_t first = std::clamp(from, axis.begin, axis.end - axis.taps);
    axis.first[static_cast<std::size_t>(to)] = first;
    // Places beyond the box count as the place at its edge.
    for (std::int64_t place = from; place < from + wanted; ++place) {
      const std::int64_t inside = std::clamp(place, first, first + axis.taps - 1);
      axis.weights[static_cast<std::size_t>(to * axis.taps + inside - first)] +=
          static_cast<float>(weight(method, centre, step, place));
    }
  }
}

namespace {

// Three channels go through the registers as four: the fourth is the neighbour's first, and the next pixel
// overwrites its result. So rows have room for one number more than they hold.
using FourFloats = float __attribute__((vector_size(16)));
constexpr std::int64_t kBeyond = 4;

struct Scratch {
  Axis columns, rows;
  std::vector<float> tall, wide;  // a row of the source's width, a row of the output's
};

// out = the weighted sum of rows of the source: long loops over neighbours in memory, whatever the channels.
void blend_rows(const std::uint8_t* first, std::int64_t stride, const float* weights, std::int64_t taps,
                std::int64_t count, float* __restrict out) {
  std::int64_t tap = 0;
  if (taps == 1) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(first[i]) * weights[0];
    return;
  }
  const auto pair = [&](std::int64_t at, bool adds) {
    const std::uint8_t *a = first + at * stride, *b = a + stride;
    const float u = weights[at], v = weights[at + 1];
    if (adds)
      for (std::int64_t i = 0; i < count; ++i)
        out[i] += static_cast<float>(a[i]) * u + static_cast<float>(b[i]) * v;
    else
      for (std::int64_t i = 0; i < count; ++i)
        out[i] = static_cast<float>(a[i]) * u + static_cast<float>(b[i]) * v;
  };
  for (; tap + 2 <= taps; tap += 2) pair(tap, tap > 0);
  if (tap < taps) {
    const std::uint8_t* a = first + tap * stride;
    for (std::int64_t i = 0; i < count; ++i) out[i] += static_cast<float>(a[i]) * weights[tap];
  }
}

template <int kTaps>  // 0: any number
void blend_colours(const float* row, const Axis& axis, std::int64_t outputs, float* out) {
  const std::int64_t taps = kTaps > 0 ? kTaps : axis.taps;
  const float* weights = axis.weights.data();
  for (std::int64_t x = 0; x < outputs; ++x, weights += taps) {
    const float* from = row + 3 * (axis.first[static_cast<std::size_t>(x)] - axis.begin);
    FourFloats sum{}, pixel;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::memcpy(&pixel, from + 3 * tap, sizeof pixel);
      sum += pixel * weights[tap];
    }
    std::memcpy(out + 3 * x, &sum, sizeof sum);
  }
}

void blend_gray(const float* row, const Axis& axis, std::int64_t outputs, float* out) {
  const float* weights = axis.weights.data();
  for (std::int64_t x = 0; x < outputs; ++x, weights += axis.taps) {
    const float* from = row + axis.first[static_cast<std::size_t>(x)] - axis.begin;
    float sum = 0;
    for (std::int64_t tap = 0; tap < axis.taps; ++tap) sum += from[tap] * weights[tap];
    out[x] = sum;
  }
}

void blend_columns(const float* row, const Axis& axis, std::int64_t outputs, std::int64_t channels,
                   float* out) {
  if (channels == 1) return blend_gray(row, axis, outputs, out);
  switch (axis.taps) {
    case 1:
      return blend_colours<1>(row, axis, outputs, out);
    case 2:
      return blend_colours<2>(row, axis, outputs, out);
    case 3:
      return blend_colours<3>(row, axis, outputs, out);
    case 4:
      return blend_colours<4>(row, axis, outputs, out);
    default:
      return blend_colours<0>(row, axis, outputs, out);
  }
}

void round_row(const float* row, std::int64_t count, std::uint8_t* __restrict out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = row[i] < 0 ? 0.0f : row[i] > 255 ? 255.0f : row[i];
    out[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(value + 0.5f));
  }
}

void copy_row(const std::uint8_t* row, const Axis& axis, std::int64_t outputs, std::int64_t channels,
              std::uint8_t* out) {
  for (std::int64_t x = 0; x < outputs; ++x)
    for (std::int64_t c = 0; c < channels; ++c)
      out[x * channels + c] = row[axis.first[static_cast<std::size_t>(x)] * channels + c];
}

}  // namespace

void resize(const Image& image, const Box& box, const ResizeTo& to, std::uint8_t* out) {
  const std::int64_t channels = image.channels(), row_values = to.width * channels;
  TRAINYARD_CHECK(channels == 1 || channels == 3);
  TRAINYARD_CHECK(box.width > 0 && box.height > 0 && to.width > 0 && to.height > 0);
  thread_local Scratch scratch;
  Axis &columns = scratch.columns, &rows = scratch.rows;
  plan_axis(to.method, box.left, box.width, image.width(), to.width, to.flip, columns);
  plan_axis(to.method, box.top, box.height, image.height(), to.height, false, rows);
  if (to.method == ResizeMethod::nearest) {
    for (std::int64_t y = 0; y < to.height; ++y)
      copy_row(image.row(rows.first[static_cast<std::size_t>(y)]), columns, to.width, channels,
               out + y * row_values);
    return;
  }
  const std::int64_t read = (columns.end - columns.begin) * channels;
  scratch.tall.resize(static_cast<std::size_t>(read + kBeyond));
  scratch.wide.resize(static_cast<std::size_t>(row_values + kBeyond));
  for (std::int64_t y = 0; y < to.height; ++y) {
    const std::uint8_t* first = image.row(rows.first[static_cast<std::size_t>(y)]) + columns.begin * channels;
    blend_rows(first, image.row_bytes(), rows.weights_of(y), rows.taps, read, scratch.tall.data());
    blend_columns(scratch.tall.data(), columns, to.width, channels, scratch.wide.data());
    round_row(scratch.wide.data(), row_values, out + y * row_values);
  }
}

}  // namespace trainyard::data
