#pragma once

#include "backend/onednn/runtime/dnnl_kernel.h"
#include "ops/window.h"

// Max pooling of one image, for the pooling kernels and for convolutions that pool what they make.
namespace trainyard::backend::onednn {

// Span is the part of a window that lies inside the image.
struct Span {
  std::int64_t first, last;  // window places [first, last)
  std::int64_t origin;       // image coordinate of place 0

  Span(std::int64_t output, std::int64_t stride, std::int64_t pad, std::int64_t kernel, std::int64_t size)
      : origin(output * stride - pad) {
    first = std::max<std::int64_t>(0, -origin);
    last = std::min(kernel, size - origin);
  }
};

// All bits set in the lanes that are channels, none in the padding of a last block.
template <int L>
typename Vec<L>::Ints channel_lanes(const ImageView& image, std::int64_t block) {
  typename Vec<L>::Ints lanes;
  for (int lane = 0; lane < L; ++lane) lanes[lane] = block * L + lane < image.channels ? -1 : 0;
  return lanes;
}

// One row of outputs in one block of channels; x and y point to that block of the image. Sizes come by value:
// bytes are stored here, which might otherwise change them for all the compiler knows.
template <int L>
void pool_row(const ops::Window2d window, const ImageView src, const ImageView dst, std::int64_t oh,
              typename Vec<L>::Ints lanes, const float* x, float* y, std::uint8_t* choice) {
  using V = Vec<L>;
  const Span rows(oh, window.stride_h, window.pad_top, window.kernel_h, src.height);
  for (std::int64_t ow = 0; ow < dst.width; ++ow) {
    const Span columns(ow, window.stride_w, window.pad_left, window.kernel_w, src.width);
    auto best = V::splat(-std::numeric_limits<float>::infinity());
    typename V::Ints place{};
    for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
      const float* row = x + ((rows.origin + ky) * src.width + columns.origin) * src.pixel_stride;
      for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
        const auto value = V::load(row + kx * src.pixel_stride);
        const auto larger = value > best;
        best = larger ? value : best;
        place = larger ? (typename V::Ints{} + static_cast<std::int32_t>(ky * window.kernel_w + kx)) : place;
      }
    }
    const std::int64_t at = (oh * dst.width + ow) * dst.pixel_stride;
    V::store(y + at, best);
    const auto bytes = __builtin_convertvector(place & lanes, typename V::Bytes);
    std::memcpy(choice + at, &bytes, sizeof bytes);
  }
}

template <int L>
typename Vec<L>::Ints load_choice(const std::uint8_t* choice) {
  typename Vec<L>::Bytes bytes;
  std::memcpy(&bytes, choice, sizeof bytes);
  return __builtin_convertvector(bytes, typename Vec<L>::Ints);
}

// The windows neither overlap nor leave gaps, so every element of d_src is written exactly once.
inline bool tiles_exactly(const ops::Window2d& window, const ImageView& src) {
  return window.kernel_h == window.stride_h && window.kernel_w == window.stride_w && window.pad_top == 0 &&
         window.pad_left == 0 && window.pad_bottom == 0 && window.pad_right == 0 &&
         src.height % window.kernel_h == 0 && src.width % window.kernel_w == 0;
}

// The gradient of one row of outputs; adds to d_x unless the windows tile the image.
template <int L, bool Tiles, bool Masked>
void unpool_row(const ops::Window2d window, const ImageView src, const ImageView dst, std::int64_t oh,
                const float* d_y, const std::uint8_t* choice, const float* y, float* d_x) {
  using V = Vec<L>;
  const Span rows(oh, window.stride_h, window.pad_top, window.kernel_h, src.height);
  for (std::int64_t ow = 0; ow < dst.width; ++ow) {
    const Span columns(ow, window.stride_w, window.pad_left, window.kernel_w, src.width);
    const std::int64_t at = (oh * dst.width + ow) * dst.pixel_stride;
    auto gradient = V::load(d_y + at);
    if constexpr (Masked) gradient = V::load(y + at) > 0 ? gradient : typename V::Floats{};
    const auto place = load_choice<L>(choice + at);
    for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
      float* row = d_x + ((rows.origin + ky) * src.width + columns.origin) * src.pixel_stride;
      for (std::int64_t kx = columns.first; kx < columns.last; ++kx) {
        const auto here = place == static_cast<std::int32_t>(ky * window.kernel_w + kx);
        const auto share = here ? gradient : typename V::Floats{};
        float* to = row + kx * src.pixel_stride;
        V::store(to, Tiles ? share : V::load(to) + share);
      }
    }
  }
}

template <int L>
void pool_image(const ops::Window2d& window, const ImageView& src, const ImageView& dst, const float* x,
                float* y, std::uint8_t* choice) {
  for (std::int64_t oh = 0; oh < dst.height; ++oh)
    for (std::int64_t b = 0; b < src.blocks; ++b)
      pool_row<L>(window, src, dst, oh, channel_lanes<L>(src, b), x + b * src.block_stride,
                  y + b * dst.block_stride, choice + b * dst.block_stride);
}

template <int L, bool Tiles, bool Masked>
void unpool_rows(const ops::Window2d& window, const ImageView& src, const ImageView& dst, const float* d_y,
                 const std::uint8_t* choice, const float* y, float* d_x) {
  if (!Tiles) std::fill(d_x, d_x + src.image_stride, 0.0f);
  for (std::int64_t oh = 0; oh < dst.height; ++oh)
    for (std::int64_t b = 0; b < src.blocks; ++b)
      unpool_row<L, Tiles, Masked>(window, src, dst, oh, d_y + b * dst.block_stride,
                                   choice + b * dst.block_stride, Masked ? y + b * dst.block_stride : nullptr,
                                   d_x + b * src.block_stride);
}

// y may be nullptr: no mask.
template <int L>
void unpool_image(const ops::Window2d& window, const ImageView& src, const ImageView& dst, const float* d_y,
                  const std::uint8_t* choice, const float* y, float* d_x) {
  if (tiles_exactly(window, src)) {
    if (y != nullptr) return unpool_rows<L, true, true>(window, src, dst, d_y, choice, y, d_x);
    return unpool_rows<L, true, false>(window, src, dst, d_y, choice, y, d_x);
  }
  if (y != nullptr) return unpool_rows<L, false, true>(window, src, dst, d_y, choice, y, d_x);
  unpool_rows<L, false, false>(window, src, dst, d_y, choice, y, d_x);
}

}  // namespace trainyard::backend::onednn
