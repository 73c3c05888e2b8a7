#include "ops/conv2d_max_pool.h"

#include "backend/reference/activation.h"
#include "backend/reference/functions.h"

namespace trainyard::backend::reference {
namespace {

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

}  // namespace

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

}  // namespace trainyard::backend::reference
