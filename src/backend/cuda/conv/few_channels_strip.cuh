#pragma once

#include "backend/cuda/conv/conv2d_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/tensor_cores.cuh"

// The forward pass and the gradient of the weights of first layers, pooled 2x2, share this on the matrix
// units.
namespace trainyard::backend::cuda::device {

// Pooled rows of a tile, and the warps that share it: 4 rows of 14 are 8 pixels for each of 7 warps. Rows of
// up to kSpan times 14 pixels are so many times 8 pixels.
inline constexpr int kStripRows = 4, kStripWarps = 7, kStripThreads = 32 * kStripWarps;
inline constexpr int kStripPixels = 14;
inline constexpr int kStripBlocks = 2;  // that run on a multiprocessor at once

// The part of an image that a tile reads, with zeros where the convolution pads, as words of 32 bits that the
// matrix units take: for bf16 a number and its right neighbour, for f32 the number itself as tf32.
template <typename T, int kKernel, int kChannels>
struct WordStrip {
  static constexpr int kHeight = 2 * kStripRows + kKernel - 1;
  int stride;  // odd, so that what lanes read at once of two rows lies in different banks

  __host__ __device__ explicit WordStrip(const FewChannels& sizes) : stride(sizes.strip_width() | 1) {}
  __host__ __device__ int words() const { return kChannels * kHeight * stride; }
  __device__ int at(int channel, int row) const { return (channel * kHeight + row) * stride; }
};

__device__ inline std::uint32_t packed(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}

// A strip on its way to shared memory: every warp has some of its lines, every lane some of their columns.
template <typename T, int kKernel, int kChannels, int kSpan>
class StripAhead {
  using Strip = WordStrip<T, kKernel, kChannels>;
  static constexpr int kLines = (kChannels * Strip::kHeight + kStripWarps - 1) / kStripWarps;

 public:
  template <typename Source>
  __device__ void fetch(const FewChannels& sizes, const Source* __restrict__ src, int image, int first_row) {
#pragma unroll
    for (int l = 0; l < kLines; ++l) {
      const int line = threadIdx.x / 32 + l * kStripWarps;
      const int channel = line / Strip::kHeight;
      const int row = line % Strip::kHeight + 2 * first_row - sizes.pad_top;
      const bool in_row = channel < kChannels && row >= 0 && row < sizes.height;
      const Source* pixels =
          src + ((static_cast<std::int64_t>(image) * kChannels + channel) * sizes.height + row) * sizes.width;
#pragma unroll
      for (int c = 0; c < kSpan; ++c) {
        const int x = threadIdx.x % 32 + c * 32 - sizes.pad_left;
        numbers_[l][c] = in_row && x >= 0 && x < sizes.width ? to_float(pixels[x]) : 0.0f;
      }
    }
  }

  // Nobody reads the neighbour of the last column.
  __device__ void store(const Strip& strip, std::uint32_t* to) const {
#pragma unroll
    for (int l = 0; l < kLines; ++l) {
      const int line = threadIdx.x / 32 + l * kStripWarps;
      if (line >= kChannels * Strip::kHeight) break;
#pragma unroll
      for (int c = 0; c < kSpan; ++c) {
        const int column = threadIdx.x % 32 + c * 32;
        const std::uint32_t word = word_of(l, c);
        if (column < strip.stride) to[line * strip.stride + column] = word;
      }
    }
  }

 private:
  __device__ std::uint32_t word_of(int l, int c) const {
    if constexpr (sizeof(T) == 4) return to_tf32(numbers_[l][c]);
    const float right = __shfl_down_sync(0xFFFFFFFFu, numbers_[l][c], 1);
    const float beyond =
        c + 1 < kSpan ? __shfl_sync(0xFFFFFFFFu, numbers_[l][c + 1 < kSpan ? c + 1 : c], 0) : 0.0f;
    return packed(numbers_[l][c], threadIdx.x % 32 < 31 ? right : beyond);
  }

  float numbers_[kLines][kSpan];
};

// StripTile is the position of a tile of kStripRows pooled rows: tiles go through an image from above, then
// to the next.
struct StripTile {
  int image, first_row, pixels;
  __device__ StripTile(const FewChannels& sizes, int tile) {
    const int strips = (sizes.pooled_h + kStripRows - 1) / kStripRows;
    image = tile / strips;
    first_row = (tile - image * strips) * kStripRows;
    pixels = min(kStripRows, sizes.pooled_h - first_row) * sizes.pooled_w;
  }
  static int count(const FewChannels& sizes) {
    return sizes.batch * ((sizes.pooled_h + kStripRows - 1) / kStripRows);
  }
};

// Finds the row of a pixel of a tile without a division; right for rows of up to 500 pixels.
class RowOf {
 public:
  __device__ explicit RowOf(int width) : inverse_(((1 << kShift) + width - 1) / width) {}
  __device__ int operator()(int pixel) const { return pixel * inverse_ >> kShift; }

 private:
  static constexpr int kShift = 20;
  int inverse_;
};

// Calls body.operator()<kernel, channels, span>() for the sizes there are; false: for none. With tf32 the
// weights of three channels would not stay in registers.
template <typename T, typename Body>
bool with_matrix_sizes(const FewChannels& sizes, const Body& body) {
  const auto with_span = [&]<int kKernel, int kChannels>() {
    if (sizes.pooled_w <= kStripPixels) return body.template operator()<kKernel, kChannels, 1>(), true;
    if (sizes.pooled_w <= 2 * kStripPixels) return body.template operator()<kKernel, kChannels, 2>(), true;
    return false;
  };
  const auto is = [&](int channels, int kernel) {
    return sizes.channels == channels && sizes.kernel == kernel;
  };
  if (is(1, 5)) return with_span.template operator()<5, 1>();
  if (is(1, 3)) return with_span.template operator()<3, 1>();
  if constexpr (sizeof(T) == 2) {
    if (is(3, 5)) return with_span.template operator()<5, 3>();
    if (is(3, 3)) return with_span.template operator()<3, 3>();
  }
  return false;
}

}  // namespace trainyard::backend::cuda::device
