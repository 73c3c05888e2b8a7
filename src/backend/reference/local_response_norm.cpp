#include "ops/local_response_norm.h"

#include <algorithm>
#include <cmath>

#include "backend/reference/functions.h"

namespace trainyard::backend::reference {
namespace {

using Attrs = ops::LocalResponseNormAttrs;

// One pixel seen across its channels.
template <typename T>
struct Column {
  const T* first;
  std::int64_t channels, stride;

  double operator[](std::int64_t channel) const { return first[channel * stride]; }
  std::int64_t begin(std::int64_t c, std::int64_t radius) const {
    return std::max<std::int64_t>(0, c - radius);
  }
  std::int64_t end(std::int64_t c, std::int64_t radius) const { return std::min(channels, c + radius + 1); }
};

// k + alpha * sum of squares of the neighbours.
template <typename T>
double base_at(const Attrs& attrs, const Column<T>& src, std::int64_t c) {
  const std::int64_t radius = attrs.window / 2;
  double squares = 0;
  for (std::int64_t j = src.begin(c, radius); j < src.end(c, radius); ++j) squares += src[j] * src[j];
  return attrs.k + attrs.alpha * squares;
}

// Neighbour j sees channel c in its own base b_j:
// d_src_c = d_dst_c * b_c^-beta - 2 alpha beta src_c * sum_j d_dst_j src_j b_j^(-beta - 1)
template <typename T>
double d_src_at(const Attrs& attrs, const Column<T>& d_dst, const Column<T>& src, std::int64_t c) {
  const std::int64_t radius = attrs.window / 2;
  double sum = 0;
  for (std::int64_t j = src.begin(c, radius); j < src.end(c, radius); ++j)
    sum += d_dst[j] * src[j] * std::pow(base_at(attrs, src, j), -attrs.beta - 1);
  return d_dst[c] * std::pow(base_at(attrs, src, c), -attrs.beta) -
         2 * attrs.alpha * attrs.beta * src[c] * sum;
}

// Calls visit(index of channel 0) for every pixel of every image.
template <typename Visit>
void for_each_pixel(const Shape& shape, const Visit& visit) {
  const std::int64_t image = shape.elements_from(1), plane = shape.elements_from(2);
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t i = 0; i < plane; ++i) visit(n * image + i);
}

}  // namespace

void local_response_norm(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<Attrs>();
    const Shape& shape = args.node.input_shape(0);
    const std::int64_t plane = shape.elements_from(2);
    T* dst = args.output<T>(0);
    for_each_pixel(shape, [&](std::int64_t pixel) {
      const Column<T> src{args.input<T>(0) + pixel, shape[1], plane};
      for (std::int64_t c = 0; c < shape[1]; ++c)
        dst[pixel + c * plane] = static_cast<T>(src[c] * std::pow(base_at(attrs, src, c), -attrs.beta));
    });
  });
}

void local_response_norm_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<Attrs>();
    const Shape& shape = args.node.input_shape(0);
    const std::int64_t plane = shape.elements_from(2);
    T* d_src = args.output<T>(0);
    for_each_pixel(shape, [&](std::int64_t pixel) {
      const Column<T> d_dst{args.input<T>(0) + pixel, shape[1], plane};
      const Column<T> src{args.input<T>(1) + pixel, shape[1], plane};
      for (std::int64_t c = 0; c < shape[1]; ++c)
        d_src[pixel + c * plane] = static_cast<T>(d_src_at(attrs, d_dst, src, c));
    });
  });
}

}  // namespace trainyard::backend::reference
