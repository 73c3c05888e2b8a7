#include "ops/pool.h"
#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

template <typename T>
struct Maximum {
  T value;
  std::uint8_t choice;
};

// Padding never wins, the first of equals does.
template <typename T>
Maximum<T> maximum_at(const ops::Window2d& window, const T* image, std::int64_t height, std::int64_t width,
                      std::int64_t top, std::int64_t left) {
  Maximum<T> best{-std::numeric_limits<T>::infinity(), 0};
  bool found = false;
  for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
    const std::int64_t row = top + ky * window.dilation_h;
    if (row < 0 || row >= height) continue;
    for (std::int64_t kx = 0; kx < window.kernel_w; ++kx) {
      const std::int64_t column = left + kx * window.dilation_w;
      if (column < 0 || column >= width) continue;
      const T value = image[row * width + column];
      if (found && !(value > best.value)) continue;
      best = {value, static_cast<std::uint8_t>(ky * window.kernel_w + kx)};
      found = true;
    }
  }
  return best;
}

void max_pool(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const ops::Window2d& window = args.node.attrs<ops::MaxPoolAttrs>().window;
    const Shape &src_shape = args.node.input_shape(0), &dst_shape = args.node.output_shape(0);
    const std::int64_t height = src_shape[2], width = src_shape[3];
    const T* image = args.input<T>(0);
    T* dst = args.output<T>(0);
    auto* choice = args.output<std::uint8_t>(1);
    for (std::int64_t plane = 0; plane < src_shape[0] * src_shape[1]; ++plane, image += height * width)
      for (std::int64_t y = 0; y < dst_shape[2]; ++y)
        for (std::int64_t x = 0; x < dst_shape[3]; ++x) {
          const Maximum<T> best =
              maximum_at(window, image, height, width, y * window.stride_h - window.pad_top,
                         x * window.stride_w - window.pad_left);
          *dst++ = best.value;
          *choice++ = best.choice;
        }
  });
}

void max_pool_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::MaxPoolGradAttrs>();
    const ops::Window2d& window = attrs.window;
    const Shape& dst_shape = args.node.input_shape(0);
    const std::int64_t height = attrs.src_shape[2], width = attrs.src_shape[3];
    const T* d_dst = args.input<T>(0);
    const auto* choice = args.input<std::uint8_t>(1);
    const T* dst = attrs.mask_by_dst ? args.input<T>(2) : nullptr;
    T* d_image = args.output<T>(0);
    std::fill_n(d_image, attrs.src_shape.elements(), T(0));
    std::int64_t i = 0;
    for (std::int64_t plane = 0; plane < dst_shape[0] * dst_shape[1]; ++plane, d_image += height * width)
      for (std::int64_t y = 0; y < dst_shape[2]; ++y)
        for (std::int64_t x = 0; x < dst_shape[3]; ++x, ++i) {
          if (attrs.mask_by_dst && !(dst[i] > 0)) continue;
          const std::int64_t ky = choice[i] / window.kernel_w, kx = choice[i] % window.kernel_w;
          const std::int64_t row = y * window.stride_h - window.pad_top + ky * window.dilation_h;
          const std::int64_t column = x * window.stride_w - window.pad_left + kx * window.dilation_w;
          d_image[row * width + column] += d_dst[i];
        }
  });
}

// Calls visit(place in the image) for every pixel under the window of output (y, x).
template <typename Visit>
void for_each_tap(const ops::Window2d& window, const Shape& src, std::int64_t y, std::int64_t x,
                  const Visit& visit) {
  const std::int64_t height = src[2], width = src[3];
  for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
    const std::int64_t row = y * window.stride_h - window.pad_top + ky * window.dilation_h;
    if (row < 0 || row >= height) continue;
    for (std::int64_t kx = 0; kx < window.kernel_w; ++kx) {
      const std::int64_t column = x * window.stride_w - window.pad_left + kx * window.dilation_w;
      if (column >= 0 && column < width) visit(row * width + column);
    }
  }
}

double divisor_at(const ops::AveragePoolAttrs& attrs, const Shape& src, std::int64_t y, std::int64_t x) {
  std::int64_t count = 0;
  if (attrs.count_padding)
    count = attrs.window.area();
  else
    for_each_tap(attrs.window, src, y, x, [&](std::int64_t) { ++count; });
  return static_cast<double>(count);
}

void average_pool(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::AveragePoolAttrs>();
    const Shape &src = args.node.input_shape(0), &dst_shape = args.node.output_shape(0);
    const T* image = args.input<T>(0);
    T* dst = args.output<T>(0);
    for (std::int64_t plane = 0; plane < src[0] * src[1]; ++plane, image += src.elements_from(2))
      for (std::int64_t y = 0; y < dst_shape[2]; ++y)
        for (std::int64_t x = 0; x < dst_shape[3]; ++x) {
          double sum = 0;
          for_each_tap(attrs.window, src, y, x, [&](std::int64_t i) { sum += image[i]; });
          *dst++ = static_cast<T>(sum / divisor_at(attrs, src, y, x));
        }
  });
}

void average_pool_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::AveragePoolGradAttrs>();
    const Shape &src = attrs.src_shape, &dst_shape = args.node.input_shape(0);
    const T* d_dst = args.input<T>(0);
    T* d_image = args.output<T>(0);
    std::fill_n(d_image, src.elements(), T(0));
    for (std::int64_t plane = 0; plane < src[0] * src[1]; ++plane, d_image += src.elements_from(2))
      for (std::int64_t y = 0; y < dst_shape[2]; ++y)
        for (std::int64_t x = 0; x < dst_shape[3]; ++x) {
          const auto share = static_cast<T>(*d_dst++ / divisor_at(attrs.pool, src, y, x));
          for_each_tap(attrs.pool.window, src, y, x, [&](std::int64_t i) { d_image[i] += share; });
        }
  });
}

// Calls visit(pixel of the small planes, pixel of the large ones).
template <typename Visit>
void for_squares(const Shape& large, std::int64_t factor, const Visit& visit) {
  const std::int64_t rows = large[0] * large[1] * large[2], columns = large[3];
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      visit(row / factor * (columns / factor) + column / factor, row * columns + column);
}

void upsample(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    for_squares(args.node.output_shape(0), args.node.attrs<ops::UpsampleAttrs>().factor,
                [&](std::int64_t from, std::int64_t to) { args.output<T>(0)[to] = args.input<T>(0)[from]; });
  });
}

void upsample_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    std::vector<double> sums(static_cast<std::size_t>(args.node.output_shape(0).elements()));
    for_squares(args.node.input_shape(0), args.node.attrs<ops::UpsampleAttrs>().factor,
                [&](std::int64_t to, std::int64_t from) {
                  sums[static_cast<std::size_t>(to)] += args.input<T>(0)[from];
                });
    std::transform(sums.begin(), sums.end(), args.output<T>(0),
                   [](double sum) { return static_cast<T>(sum); });
  });
}

}  // namespace

std::vector<Candidate> pool_candidates() {
  return {{&ops::max_pool_op, "reference:max_pool", always, make<max_pool>},
          {&ops::max_pool_d_src_op, "reference:max_pool_d_src", always, make<max_pool_d_src>},
          {&ops::average_pool_op, "reference:average_pool", always, make<average_pool>},
          {&ops::average_pool_d_src_op, "reference:average_pool_d_src", always, make<average_pool_d_src>},
          {&ops::upsample_op, "reference:upsample", always, make<upsample>},
          {&ops::upsample_d_src_op, "reference:upsample_d_src", always, make<upsample_d_src>}};
}

}  // namespace trainyard::backend::reference
