#include "ops/average_pool.h"

#include <algorithm>

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {
namespace {

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

}  // namespace

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

}  // namespace trainyard::backend::reference
