#include "image/resize.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "image/axis.h"

namespace trainyard::image {
namespace {

// Three channels go through the registers as four: the fourth is the neighbour's first, and what it gives is
// overwritten by the next pixel. So rows have room for one number more than they hold.
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

}  // namespace trainyard::image
