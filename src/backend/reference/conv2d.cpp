#include "ops/conv2d.h"
#include "backend/reference/backend.h"
#include "backend/reference/elementwise.h"

namespace trainyard::backend::reference {

namespace {

// Geometry holds the sizes of one convolution and where its elements lie.
struct Geometry {
  Geometry(const ops::Conv2dAttrs& attrs, const Shape& src, const Shape& weight, const Shape& dst)
      : window(attrs.window),
        batch(src[0]),
        channels(src[1]),
        height(src[2]),
        width(src[3]),
        outputs(dst[1]),
        rows(dst[2]),
        columns(dst[3]),
        depth(weight[1]),
        group_outputs(outputs / attrs.groups) {}

  ops::Window2d window;
  std::int64_t batch, channels, height, width;  // src
  std::int64_t outputs, rows, columns;          // dst
  std::int64_t depth, group_outputs;            // channels and outputs of one group

  std::int64_t src(std::int64_t n, std::int64_t c, std::int64_t row, std::int64_t column) const {
    return ((n * channels + c) * height + row) * width + column;
  }
  std::int64_t dst(std::int64_t n, std::int64_t o, std::int64_t y, std::int64_t x) const {
    return ((n * outputs + o) * rows + y) * columns + x;
  }
  std::int64_t weight(std::int64_t o, std::int64_t d, std::int64_t ky, std::int64_t kx) const {
    return ((o * depth + d) * window.kernel_h + ky) * window.kernel_w + kx;
  }
  // Returns row and column of the image that output (y, x) meets at tap (ky, kx); outside of it is padding.
  std::int64_t row(std::int64_t y, std::int64_t ky) const {
    return y * window.stride_h - window.pad_top + ky * window.dilation_h;
  }
  std::int64_t column(std::int64_t x, std::int64_t kx) const {
    return x * window.stride_w - window.pad_left + kx * window.dilation_w;
  }
};

template <typename T>
double convolve_at(const Geometry& g, const T* src, const T* weight, std::int64_t n, std::int64_t o,
                   std::int64_t y, std::int64_t x) {
  double sum = 0;
  for (std::int64_t d = 0; d < g.depth; ++d) {
    const std::int64_t c = o / g.group_outputs * g.depth + d;
    for (std::int64_t ky = 0; ky < g.window.kernel_h; ++ky) {
      const std::int64_t row = g.row(y, ky);
      if (row < 0 || row >= g.height) continue;
      const T* pixels = src + g.src(n, c, row, 0);
      const T* taps = weight + g.weight(o, d, ky, 0);
      for (std::int64_t kx = 0; kx < g.window.kernel_w; ++kx) {
        const std::int64_t column = g.column(x, kx);
        if (column >= 0 && column < g.width) sum += static_cast<double>(pixels[column]) * taps[kx];
      }
    }
  }
  return sum;
}

// Gathers from every output whose window covers the pixel.
template <typename T>
double d_src_at(const Geometry& g, const T* d_dst, const T* weight, std::int64_t n, std::int64_t c,
                std::int64_t row, std::int64_t column) {
  const std::int64_t first = c / g.depth * g.group_outputs, d = c % g.depth;
  const std::int64_t dst_stride = g.rows * g.columns, weight_stride = g.depth * g.window.area();
  double sum = 0;
  for (std::int64_t ky = 0; ky < g.window.kernel_h; ++ky) {
    const std::int64_t down = row - g.row(0, ky);
    if (down < 0 || down % g.window.stride_h != 0 || down / g.window.stride_h >= g.rows) continue;
    for (std::int64_t kx = 0; kx < g.window.kernel_w; ++kx) {
      const std::int64_t right = column - g.column(0, kx);
      if (right < 0 || right % g.window.stride_w != 0 || right / g.window.stride_w >= g.columns) continue;
      const T* from = d_dst + g.dst(n, first, down / g.window.stride_h, right / g.window.stride_w);
      const T* tap = weight + g.weight(first, d, ky, kx);
      for (std::int64_t o = 0; o < g.group_outputs; ++o)
        sum += static_cast<double>(from[o * dst_stride]) * tap[o * weight_stride];
    }
  }
  return sum;
}

template <typename T>
double d_weight_at(const Geometry& g, const T* d_dst, const T* src, std::int64_t o, std::int64_t d,
                   std::int64_t ky, std::int64_t kx) {
  const std::int64_t c = o / g.group_outputs * g.depth + d;
  double sum = 0;
  for (std::int64_t n = 0; n < g.batch; ++n) {
    for (std::int64_t y = 0; y < g.rows; ++y) {
      const std::int64_t row = g.row(y, ky);
      if (row < 0 || row >= g.height) continue;
      const T* pixels = src + g.src(n, c, row, 0);
      const T* from = d_dst + g.dst(n, o, y, 0);
      for (std::int64_t x = 0; x < g.columns; ++x) {
        const std::int64_t column = g.column(x, kx);
        if (column >= 0 && column < g.width) sum += static_cast<double>(from[x]) * pixels[column];
      }
    }
  }
  return sum;
}

void conv2d(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::Conv2dAttrs>();
    const Geometry g(attrs, args.node.input_shape(0), args.node.input_shape(1), args.node.output_shape(0));
    const T *src = args.input<T>(0), *weight = args.input<T>(1);
    const T* bias = args.node.inputs() == 3 ? args.input<T>(2) : nullptr;
    T* dst = args.output<T>(0);
    for (std::int64_t n = 0; n < g.batch; ++n)
      for (std::int64_t o = 0; o < g.outputs; ++o)
        for (std::int64_t y = 0; y < g.rows; ++y)
          for (std::int64_t x = 0; x < g.columns; ++x) {
            const double sum = convolve_at(g, src, weight, n, o, y, x) + (bias != nullptr ? bias[o] : T(0));
            dst[g.dst(n, o, y, x)] = activate(attrs.activation, static_cast<T>(sum));
          }
  });
}

void conv2d_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::Conv2dGradAttrs>();
    const Geometry g(attrs.conv, attrs.shape, args.node.input_shape(1), args.node.input_shape(0));
    const T *d_dst = args.input<T>(0), *weight = args.input<T>(1);
    T* d_src = args.output<T>(0);
    for (std::int64_t n = 0; n < g.batch; ++n)
      for (std::int64_t c = 0; c < g.channels; ++c)
        for (std::int64_t row = 0; row < g.height; ++row)
          for (std::int64_t column = 0; column < g.width; ++column)
            d_src[g.src(n, c, row, column)] = static_cast<T>(d_src_at(g, d_dst, weight, n, c, row, column));
  });
}

void conv2d_d_weight(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::Conv2dGradAttrs>();
    const Geometry g(attrs.conv, args.node.input_shape(1), attrs.shape, args.node.input_shape(0));
    const T *d_dst = args.input<T>(0), *src = args.input<T>(1);
    T* d_weight = args.output<T>(0);
    for (std::int64_t o = 0; o < g.outputs; ++o)
      for (std::int64_t d = 0; d < g.depth; ++d)
        for (std::int64_t ky = 0; ky < g.window.kernel_h; ++ky)
          for (std::int64_t kx = 0; kx < g.window.kernel_w; ++kx)
            d_weight[g.weight(o, d, ky, kx)] = static_cast<T>(d_weight_at(g, d_dst, src, o, d, ky, kx));
    if (!attrs.bias) return;
    T* d_bias = args.output<T>(1);
    for (std::int64_t o = 0; o < g.outputs; ++o) {
      double sum = 0;
      for (std::int64_t n = 0; n < g.batch; ++n)
        for (std::int64_t i = 0; i < g.rows * g.columns; ++i) sum += d_dst[g.dst(n, o, 0, 0) + i];
      d_bias[o] = static_cast<T>(sum);
    }
  });
}

// Calls body(image channel, image row, image column, weight index) for the taps of one output that lie
// inside.
template <typename Body>
void for_each_tap(const ops::Conv2dAttrs& attrs, const Shape& src, const Shape& weight, std::int64_t output,
                  std::int64_t y, std::int64_t x, const Body& body) {
  const ops::Window2d& w = attrs.window;
  const std::int64_t first_channel = output / (weight[0] / attrs.groups) * weight[1];
  for (std::int64_t d = 0; d < weight[1]; ++d)
    for (std::int64_t ky = 0; ky < w.kernel_h; ++ky)
      for (std::int64_t kx = 0; kx < w.kernel_w; ++kx) {
        const std::int64_t row = y * w.stride_h - w.pad_top + ky * w.dilation_h;
        const std::int64_t column = x * w.stride_w - w.pad_left + kx * w.dilation_w;
        if (row < 0 || row >= src[2] || column < 0 || column >= src[3]) continue;
        body(first_channel + d, row, column, ((output * weight[1] + d) * w.kernel_h + ky) * w.kernel_w + kx);
      }
}

std::int64_t pixel(const Shape& shape, std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
  return ((n * shape[1] + c) * shape[2] + y) * shape[3] + x;
}

template <typename Body>
void for_each_pixel(const Shape& shape, const Body& body) {
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t c = 0; c < shape[1]; ++c)
      for (std::int64_t y = 0; y < shape[2]; ++y)
        for (std::int64_t x = 0; x < shape[3]; ++x) body(n, c, y, x);
}

// Each output of the convolution is made where the pool asks for it.
void conv2d_max_pool(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::Conv2dMaxPoolAttrs>();
    const Shape &src = args.node.input_shape(0), &weight = args.node.input_shape(1),
                &dst = args.node.output_shape(0);
    const Shape between = ops::convolved_shape(attrs, src, weight);
    const auto convolved = [&](std::int64_t n, std::int64_t o, std::int64_t y, std::int64_t x) {
      double sum = args.node.inputs() == 3 ? static_cast<double>(args.input<T>(2)[o]) : 0;
      for_each_tap(attrs.conv, src, weight, o, y, x, [&](auto c, auto row, auto column, auto tap) {
        sum += static_cast<double>(args.input<T>(0)[pixel(src, n, c, row, column)]) * args.input<T>(1)[tap];
      });
      return static_cast<T>(activate(attrs.conv.activation, sum));
    };
    for_each_pixel(dst, [&](auto n, auto o, auto y, auto x) {
      T best{};
      std::int64_t choice = -1;
      for (std::int64_t place = 0; place < attrs.pool.area(); ++place) {
        const std::int64_t row = y * attrs.pool.stride_h - attrs.pool.pad_top + place / attrs.pool.kernel_w;
        const std::int64_t column =
            x * attrs.pool.stride_w - attrs.pool.pad_left + place % attrs.pool.kernel_w;
        if (row < 0 || row >= between[2] || column < 0 || column >= between[3]) continue;
        const T value = convolved(n, o, row, column);
        if (choice >= 0 && !(value > best)) continue;
        best = value;
        choice = place;
      }
      args.output<T>(0)[pixel(dst, n, o, y, x)] = best;
      args.output<std::uint8_t>(1)[pixel(dst, n, o, y, x)] = static_cast<std::uint8_t>(choice);
    });
  });
}

// Only the chosen output of each window has a gradient.
void conv2d_max_pool_d_weight(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::Conv2dMaxPoolGradAttrs>();
    const ops::Window2d& pool = attrs.forward.pool;
    const Shape &dst = args.node.input_shape(0), &src = args.node.input_shape(2);
    std::vector<double> d_weight(static_cast<std::size_t>(attrs.weight.elements()));
    std::vector<double> d_bias(static_cast<std::size_t>(attrs.weight[0]));
    for_each_pixel(dst, [&](auto n, auto o, auto y, auto x) {
      const std::int64_t at = pixel(dst, n, o, y, x);
      if (attrs.mask_by_dst && !(args.input<T>(3)[at] > 0)) return;
      const auto gradient = static_cast<double>(args.input<T>(0)[at]);
      const std::int64_t choice = args.input<std::uint8_t>(1)[at];
      d_bias[static_cast<std::size_t>(o)] += gradient;
      for_each_tap(attrs.forward.conv, src, attrs.weight, o,
                   y * pool.stride_h - pool.pad_top + choice / pool.kernel_w,
                   x * pool.stride_w - pool.pad_left + choice % pool.kernel_w,
                   [&](auto c, auto row, auto column, auto tap) {
                     d_weight[static_cast<std::size_t>(tap)] +=
                         gradient * static_cast<double>(args.input<T>(2)[pixel(src, n, c, row, column)]);
                   });
    });
    std::copy(d_weight.begin(), d_weight.end(), args.output<T>(0));
    if (attrs.bias) std::copy(d_bias.begin(), d_bias.end(), args.output<T>(1));
  });
}

}  // namespace

std::vector<Candidate> conv2d_candidates() {
  return {{&ops::conv2d_op, "reference:conv2d", always, make<conv2d>},
          {&ops::conv2d_d_src_op, "reference:conv2d_d_src", always, make<conv2d_d_src>},
          {&ops::conv2d_d_weight_op, "reference:conv2d_d_weight", always, make<conv2d_d_weight>},
          {&ops::conv2d_max_pool_op, "reference:conv2d_max_pool", always, make<conv2d_max_pool>},
          {&ops::conv2d_max_pool_d_weight_op, "reference:conv2d_max_pool_d_weight", always,
           make<conv2d_max_pool_d_weight>}};
}

}  // namespace trainyard::backend::reference
