#pragma once

#include "backend/onednn/runtime/dnnl_kernel.h"
#include "ops/window.h"

// These functions take one image of a convolution with up to four input channels. The image is plain and
// small, so the few taps per output are broadcast from it one by one while the output channels fill the
// vectors.
namespace trainyard::backend::onednn {

// Sums that fit the register file beside what they are made of.
#ifdef __AVX512F__
constexpr int kSums = 28;
constexpr int kPixels = 12;  // of a forward pass, times two blocks of channels
#else
constexpr int kSums = 12;
constexpr int kPixels = 5;
#endif

// Rows of the window whose weight gradients are summed in one go.
constexpr int rows_together(int kernel_w) { return kSums / kernel_w > 0 ? kSums / kernel_w : 1; }

// Calls function.template operator()<KW>() with the width of the window as a constant.
template <typename Function>
void with_kernel_width(std::int64_t kernel_w, const Function& function) {
  switch (kernel_w) {
    case 1:
      return function.template operator()<1>();
    case 3:
      return function.template operator()<3>();
    case 5:
      return function.template operator()<5>();
    case 7:
      return function.template operator()<7>();
    default:
      TRAINYARD_CHECK(kernel_w == 11);
      return function.template operator()<11>();
  }
}

// The padded copy of one image in which every tap of every output lies, and where.
struct Taps {
  ops::Window2d window;
  std::int64_t channels, height, width;  // of the image
  std::int64_t padded_h, padded_w;
  ImageView dst;

  Taps(const ops::Window2d& w, const Shape& src, const Layout& dst_layout, const Shape& dst_shape)
      : window(w), channels(src[1]), height(src[2]), width(src[3]), dst(dst_layout, dst_shape) {
    padded_h = (dst.height - 1) * w.stride_h + w.reach_h();
    padded_w = (dst.width - 1) * w.stride_w + w.reach_w();
    // A forward pass reads whole runs of pixels, also beyond the end of a row.
    padded_w += kPixels * w.stride_w;
  }
  std::int64_t count() const { return channels * window.area(); }
  std::int64_t padded_floats() const { return channels * padded_h * padded_w; }

  // Rows of the window, over all channels, and where each begins.
  std::int64_t rows() const { return channels * window.kernel_h; }
  std::int64_t row_offset(std::int64_t row) const {
    return (row / window.kernel_h * padded_h + row % window.kernel_h) * padded_w;
  }
  // Copies one image; what lies outside of it was zeroed once and stays so.
  void copy_image(const float* image, float* padded) const {
    const std::int64_t rows = std::min(height, padded_h - window.pad_top);
    const std::int64_t columns = std::min(width, padded_w - window.pad_left);
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t row = 0; row < rows; ++row)
        std::copy_n(image + (c * height + row) * width, columns,
                    padded + (c * padded_h + row + window.pad_top) * padded_w + window.pad_left);
  }
};

// The sums stay in registers: the loops over them must be unrolled for that, which the compiler does not do
// by itself. Stride 0 stands for any.
template <int L, int P, int Blocks, int Stride>
void forward_run(const Taps& taps, const float* padded, const float* table, const float* bias, bool relu,
                 float* y) {
  using V = Vec<L>;
  typename V::Floats sum[P][Blocks];
#pragma GCC unroll 32
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int b = 0; b < Blocks; ++b) sum[p][b] = V::load(bias + b * L);
  const std::int64_t stride = Stride > 0 ? Stride : taps.window.stride_w, row = taps.dst.padded_channels();
  for (std::int64_t r = 0; r < taps.rows(); ++r) {
    const float* x = padded + taps.row_offset(r);
    for (std::int64_t kx = 0; kx < taps.window.kernel_w; ++kx, ++x, table += row) {
      typename V::Floats weight[Blocks];
#pragma GCC unroll 2
      for (int b = 0; b < Blocks; ++b) weight[b] = V::load(table + b * L);
#pragma GCC unroll 32
      for (int p = 0; p < P; ++p) {
        const auto value = V::splat(x[p * stride]);
#pragma GCC unroll 2
        for (int b = 0; b < Blocks; ++b) sum[p][b] += value * weight[b];
      }
      // Keeps the compiler from carrying pixels over to the next tap in registers: a broadcast from memory is
      // free, one from a register takes the place of a multiply-add.
      asm volatile("" : : : "memory");
    }
  }
#pragma GCC unroll 32
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 2
    for (int b = 0; b < Blocks; ++b) {
      const auto value = relu ? (sum[p][b] > 0 ? sum[p][b] : typename V::Floats{}) : sum[p][b];
      V::store(y + p * taps.dst.pixel_stride + b * taps.dst.block_stride, value);
    }
}

template <int L, int Blocks, int Stride>
void forward_row(const Taps& taps, const float* x, const float* table, const float* bias, bool relu,
                 float* y) {
  std::int64_t ow = 0;
  const auto run = [&]<int P>() {
    for (; ow + P <= taps.dst.width; ow += P)
      forward_run<L, P, Blocks, Stride>(taps, x + ow * taps.window.stride_w, table, bias, relu,
                                        y + ow * taps.dst.pixel_stride);
  };
  run.template operator()<kPixels>();
  run.template operator()<4>();
  run.template operator()<1>();
}

// Adds one block of output channels of one image: table(tap, o) += sum over pixels of d_y(pixel, o) * x(pixel
// + tap), for all taps of a few rows of the window, whose sums stay in registers.
template <int L, int KW, int Rows>
void add_gradient(const Taps& taps, const float* padded, const std::int64_t* row_offsets, const float* d_y,
                  float* table) {
  using V = Vec<L>;
  typename V::Floats sum[Rows * KW];
#pragma GCC unroll 32
  for (int t = 0; t < Rows * KW; ++t) sum[t] = V::load(table + t * L);
  for (std::int64_t oh = 0; oh < taps.dst.height; ++oh) {
    const float* x[Rows];
#pragma GCC unroll 32
    for (int r = 0; r < Rows; ++r) x[r] = padded + row_offsets[r] + oh * taps.window.stride_h * taps.padded_w;
    for (std::int64_t ow = 0; ow < taps.dst.width; ++ow, d_y += taps.dst.pixel_stride) {
      const auto gradient = V::load(d_y);
      const std::int64_t at = ow * taps.window.stride_w;
#pragma GCC unroll 32
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 32
        for (int kx = 0; kx < KW; ++kx) sum[r * KW + kx] += gradient * V::splat(x[r][at + kx]);
    }
  }
#pragma GCC unroll 32
  for (int t = 0; t < Rows * KW; ++t) V::store(table + t * L, sum[t]);
}

template <int L>
void add_bias_gradient(const Taps& taps, const float* d_y, float* sums) {
  auto sum = Vec<L>::load(sums);
  for (std::int64_t p = 0; p < taps.dst.pixels(); ++p) sum += Vec<L>::load(d_y + p * taps.dst.pixel_stride);
  Vec<L>::store(sums, sum);
}

}  // namespace trainyard::backend::onednn
