#include "backend/cuda/device/conv2d_small_images.h"

#include "backend/cuda/device/activation.cuh"
#include "backend/cuda/device/launch.cuh"
#include "backend/cuda/device/tensor_cores.cuh"

namespace trainyard::backend::cuda::device {
namespace {

constexpr int kKernel = 5, kTaps = kKernel * kKernel;
constexpr int kMaxShared = 227 << 10;
constexpr int kFewImages = 66;  // half as many outputs a block then, so that all multiprocessors have one
constexpr int kStages = 3;      // rows of taps whose weights are in shared memory or on their way

// Numbers of bf16 between neighbouring pixels in shared memory; the odd 16 bytes spread them over the banks.
template <int kChannels>
constexpr int kPixel = kChannels + 8;

// A matrix product: pixels (a band of rows of one image) x channels and taps x outputs. Warps share the
// pixels (kPixelWarps, kPixelTiles tiles of 16 each) and the outputs (kOutputWarps, kOutputTiles tiles of 8
// each).
template <int kChannels_, int kOutputs_, bool kTurned_, int kPixelWarps_, int kPixelTiles_, int kOutputWarps_>
struct Shape {
  static constexpr int kChannels = kChannels_, kOutputs = kOutputs_;
  static constexpr bool kTurned = kTurned_;  // weights are those of the opposite direction
  static constexpr int kPixelWarps = kPixelWarps_, kPixelTiles = kPixelTiles_, kOutputWarps = kOutputWarps_;
  static constexpr int kOutputTiles = kOutputs / 8 / kOutputWarps;
  static constexpr int kThreadCount = 32 * kPixelWarps * kOutputWarps;
  static constexpr int kPixels = 16 * kPixelWarps * kPixelTiles;
  // Weights of one row of taps: as they lie in memory, kWeightRows rows of kWeightColumns.
  static constexpr int kWeightRows = kTurned ? kChannels : kOutputs;
  static constexpr int kWeightColumns = kTurned ? kOutputs : kChannels;
  static constexpr int kWeightStage = kKernel * kWeightRows * kPixel<kWeightColumns>;

  static_assert(kOutputTiles % 2 == 0);
};

struct Band {
  int rows, shared_width;  // output rows of a block; pixels of a row in shared memory
  int shared_pixels() const { return (rows + kKernel - 1) * shared_width; }
};

template <typename S>
Band band_of(const SmallImages& sizes, int pool) {
  int rows = std::min(S::kPixels / sizes.out_w, sizes.out_h);
  // Bands of one height where that fills the block as well.
  const int bands = rows > 0 ? (sizes.out_h + rows - 1) / rows : 1;
  rows = (sizes.out_h + bands - 1) / bands;
  if (pool > 0) rows = (rows + pool - 1) / pool * pool;
  return {rows, sizes.out_w + kKernel - 1};
}

template <typename S>
std::size_t shared_bytes(const Band& band) {
  const std::size_t working =
      (static_cast<std::size_t>(band.shared_pixels()) * kPixel<S::kChannels> + kStages * S::kWeightStage) *
      sizeof(bf16);
  return std::max(working, static_cast<std::size_t>(S::kPixels) * kPixel<S::kOutputs> * sizeof(bf16));
}

// The image around output rows [first, first + rows), with zeros outside of it.
template <int kChannels>
__device__ void load_band(const SmallImages& s, const bf16* image, int first, int rows, int shared_width,
                          std::uint32_t to) {
  constexpr int kPieces = kChannels / 8;
  const int count = (rows + kKernel - 1) * shared_width * kPieces;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int piece = i % kPieces, pixel = i / kPieces;
    const int y = first + pixel / shared_width - s.pad_top, x = pixel % shared_width - s.pad_left;
    const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
    copy_async_16(to + (pixel * kPixel<kChannels> + piece * 8) * sizeof(bf16),
                  image + (inside ? (y * s.width + x) * kChannels + piece * 8 : 0), inside);
  }
}

template <typename S>
__device__ void load_weights(const SmallImages& s, const bf16* weight, int first_output, int ky,
                             std::uint32_t to) {
  constexpr int kPieces = S::kWeightColumns / 8, kRowsOfAll = kKernel * S::kWeightRows;
  for (int i = threadIdx.x; i < kRowsOfAll * kPieces; i += blockDim.x) {
    const int piece = i % kPieces, row = i / kPieces % S::kWeightRows, kx = i / (kPieces * S::kWeightRows);
    const int tap = S::kTurned ? kTaps - 1 - (ky * kKernel + kx) : ky * kKernel + kx;
    const std::int64_t from =
        S::kTurned ? (static_cast<std::int64_t>(row) * kTaps + tap) * s.outputs + first_output
                   : (static_cast<std::int64_t>(first_output + row) * kTaps + tap) * S::kChannels;
    copy_async_16(to + ((kx * S::kWeightRows + row) * kPixel<S::kWeightColumns> + piece * 8) * sizeof(bf16),
                  weight + from + piece * 8, true);
  }
}

// Adds the products with one row of taps, whose weights lie at `weights`.
template <typename S>
__device__ void add_taps(std::uint32_t weights, const std::uint32_t (&pixels)[S::kPixelTiles],
                         int first_column, float (&sum)[S::kPixelTiles][S::kOutputTiles][4]) {
  const int lane = threadIdx.x % 32;
  const int near = (lane & 7) + (S::kTurned ? (lane >> 3 & 1) * 8 : (lane >> 4) * 8);
  const int far = S::kTurned ? (lane >> 4) * 8 : (lane >> 3 & 1) * 8;
#pragma unroll
  for (int kx = 0; kx < kKernel; ++kx)
#pragma unroll
    for (int k = 0; k < S::kChannels; k += 16) {
      std::uint32_t a[S::kPixelTiles][4];
#pragma unroll
      for (int m = 0; m < S::kPixelTiles; ++m)
        load_matrices(a[m], pixels[m] + (kx * kPixel<S::kChannels> + k) * sizeof(bf16));
#pragma unroll
      for (int n = 0; n < S::kOutputTiles; n += 2) {
        std::uint32_t b[4];
        const int column = first_column + n * 8;
        const int row = kx * S::kWeightRows + near + (S::kTurned ? k : column);
        const std::uint32_t at =
            weights + (row * kPixel<S::kWeightColumns> + far + (S::kTurned ? column : k)) * sizeof(bf16);
        if (S::kTurned)
          load_matrices_transposed(b, at);
        else
          load_matrices(b, at);
#pragma unroll
        for (int m = 0; m < S::kPixelTiles; ++m) {
          multiply_add(sum[m][n], a[m], b[0], b[1]);
          multiply_add(sum[m][n + 1], a[m], b[2], b[3]);
        }
      }
    }
}

template <typename S>
__device__ void store_sums(const float (&sum)[S::kPixelTiles][S::kOutputTiles][4], const float* bias,
                           int first_output, Activation activation, bf16* tile) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int pixel_warp = warp / S::kOutputWarps, column0 = warp % S::kOutputWarps * S::kOutputTiles * 8;
#pragma unroll
  for (int n = 0; n < S::kOutputTiles; ++n) {
    const int column = column0 + n * 8 + lane % 4 * 2;
    const float add0 = bias == nullptr ? 0.0f : bias[first_output + column];
    const float add1 = bias == nullptr ? 0.0f : bias[first_output + column + 1];
#pragma unroll
    for (int m = 0; m < S::kPixelTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int pixel = (pixel_warp * S::kPixelTiles + m) * 16 + lane / 4 + half * 8;
        *reinterpret_cast<__nv_bfloat162*>(tile + pixel * kPixel<S::kOutputs> + column) =
            __floats2bfloat162_rn(activate(activation, sum[m][n][half * 2] + add0),
                                  activate(activation, sum[m][n][half * 2 + 1] + add1));
      }
  }
}

// From the tile to memory, as it is or the largest of every 2x2.
template <typename S>
__device__ void write_tile(const SmallImages& s, const bf16* tile, int image, int first_row, int rows,
                           int first_output, int pool, bf16* dst, std::uint8_t* choice) {
  constexpr int kPieces = S::kOutputs / 8;
  using Eight = Vector<bf16, 8>;
  const int valid = min(rows, s.out_h - first_row);
  if (pool == 0) {
    const std::int64_t first = (static_cast<std::int64_t>(image) * s.out_h + first_row) * s.out_w;
    for (int i = threadIdx.x; i < valid * s.out_w * kPieces; i += blockDim.x) {
      const int pixel = i / kPieces, at = i % kPieces * 8;
      *reinterpret_cast<Eight*>(dst + (first + pixel) * s.outputs + first_output + at) =
          *reinterpret_cast<const Eight*>(tile + pixel * kPixel<S::kOutputs> + at);
    }
    return;
  }
  const int pooled_w = s.out_w / 2;
  const std::int64_t first = (static_cast<std::int64_t>(image) * (s.out_h / 2) + first_row / 2) * pooled_w;
  for (int i = threadIdx.x; i < valid / 2 * pooled_w * kPieces; i += blockDim.x) {
    const int pixel = i / kPieces, at = i % kPieces * 8;
    const int corner = pixel / pooled_w * 2 * s.out_w + pixel % pooled_w * 2;
    Eight best = *reinterpret_cast<const Eight*>(tile + corner * kPixel<S::kOutputs> + at);
    Vector<std::uint8_t, 8> place{};
#pragma unroll
    for (int p = 1; p < 4; ++p) {
      const int other = corner + p / 2 * s.out_w + p % 2;
      const Eight next = *reinterpret_cast<const Eight*>(tile + other * kPixel<S::kOutputs> + at);
#pragma unroll
      for (int e = 0; e < 8; ++e)
        if (to_float(next.at[e]) > to_float(best.at[e])) best.at[e] = next.at[e], place.at[e] = p;
    }
    const std::int64_t to = (first + pixel) * s.outputs + first_output + at;
    *reinterpret_cast<Eight*>(dst + to) = best;
    *reinterpret_cast<Vector<std::uint8_t, 8>*>(choice + to) = place;
  }
}

template <typename S>
__global__ void __launch_bounds__(S::kThreadCount)
    convolve(SmallImages s, Band band, const bf16* src, const bf16* weight, const float* bias,
             Activation activation, int pool, bf16* dst, std::uint8_t* choice) {
  extern __shared__ __align__(16) bf16 shared[];
  const int image = blockIdx.x, first_row = blockIdx.y * band.rows, first_output = blockIdx.z * S::kOutputs;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t pixels = shared_address(shared);
  const std::uint32_t weights =
      pixels + (band.rows + kKernel - 1) * band.shared_width * kPixel<S::kChannels> * sizeof(bf16);
  load_band<S::kChannels>(s, src + static_cast<std::int64_t>(image) * s.height * s.width * S::kChannels,
                          first_row, band.rows, band.shared_width, pixels);
  const auto prefetch = [&](int ky) {
    if (ky < kKernel)
      load_weights<S>(s, weight, first_output, ky, weights + ky % kStages * S::kWeightStage * sizeof(bf16));
    commit_copies();
  };
  for (int ky = 0; ky < kStages - 1; ++ky) prefetch(ky);

  // Where this lane's row of each tile lies: the pixel above and left of all taps.
  std::uint32_t rows[S::kPixelTiles];
#pragma unroll
  for (int m = 0; m < S::kPixelTiles; ++m) {
    const int pixel = (warp / S::kOutputWarps * S::kPixelTiles + m) * 16 + lane % 16;
    const bool valid = pixel < band.rows * s.out_w;
    const int at = valid ? pixel / s.out_w * band.shared_width + pixel % s.out_w : 0;
    rows[m] = pixels + (at * kPixel<S::kChannels> + lane / 16 * 8) * sizeof(bf16);
  }
  float sum[S::kPixelTiles][S::kOutputTiles][4] = {};
  for (int ky = 0; ky < kKernel; ++ky) {
    wait_copies<kStages - 2>();
    __syncthreads();  // this stage is there, and the one before it is free
    prefetch(ky + kStages - 1);
    add_taps<S>(weights + ky % kStages * S::kWeightStage * sizeof(bf16), rows,
                warp % S::kOutputWarps * S::kOutputTiles * 8, sum);
#pragma unroll
    for (int m = 0; m < S::kPixelTiles; ++m)
      rows[m] += band.shared_width * kPixel<S::kChannels> * sizeof(bf16);
  }
  __syncthreads();
  store_sums<S>(sum, bias, first_output, activation, shared);
  __syncthreads();
  write_tile<S>(s, shared, image, first_row, band.rows, first_output, pool, dst, choice);
}

// Calls body.operator()<Shape>() for the sizes there are; false: for none. Pixels of a block: 144 hold an
// image of 12x12, 128 eight rows of 14.
template <bool kTurned, typename Body>
bool with_shape(const SmallImages& s, const Body& body) {
  const bool twelve = s.out_h * s.out_w == 144, few = s.batch <= kFewImages;
  if (s.channels == 32 && s.outputs % 32 == 0 && few)
    return body.template operator()<Shape<32, 32, kTurned, 4, 2, 2>>(), true;
  if (s.channels == 32 && s.outputs % 64 == 0)
    return body.template operator()<Shape<32, 64, kTurned, 4, 2, 2>>(), true;
  if (s.channels == 64 && s.outputs % 64 == 0 && twelve)
    return body.template operator()<Shape<64, 64, kTurned, 3, 3, 2>>(), true;
  if (s.channels == 64 && s.outputs % 64 == 0)
    return body.template operator()<Shape<64, 64, kTurned, 4, 2, 2>>(), true;
  if (s.channels == 64 && s.outputs == 32)
    return body.template operator()<Shape<64, 32, kTurned, 4, 2, 2>>(), true;
  return false;
}

template <bool kTurned>
void start(cudaStream_t stream, const SmallImages& s, const void* src, const void* weight, const float* bias,
           Activation activation, int pool, void* dst, std::uint8_t* choice) {
  with_shape<kTurned>(s, [&]<typename S>() {
    const Band band = band_of<S>(s, pool);
    const std::size_t bytes = shared_bytes<S>(band);
    TRAINYARD_CUDA(cudaFuncSetAttribute(convolve<S>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
    const dim3 grid(s.batch, (s.out_h + band.rows - 1) / band.rows, s.outputs / S::kOutputs);
    convolve<S><<<grid, S::kThreadCount, bytes, stream>>>(s, band, static_cast<const bf16*>(src),
                                                          static_cast<const bf16*>(weight), bias, activation,
                                                          pool, static_cast<bf16*>(dst), choice);
  });
  check_launch("conv2d_small_images");
}

template <bool kTurned>
const char* decline(const SmallImages& s) {
  if (s.kernel != kKernel) return "made for kernels of 5x5";
  const char* reason = "made for 32 or 64 channels and outputs";
  with_shape<kTurned>(s, [&]<typename S>() {
    const Band band = band_of<S>(s, 2);
    reason = band.rows < 2 || band.rows * s.out_w > S::kPixels ? "images are too wide"
             : shared_bytes<S>(band) > kMaxShared              ? "images are too large for shared memory"
                                                               : nullptr;
  });
  return reason;
}

}  // namespace

const char* SmallImages::decline_forward() const {
  const char* turned = decline<true>(*this);
  return turned != nullptr ? turned : decline<false>(*this);
}

void conv2d_small_images(cudaStream_t stream, const SmallImages& sizes, const void* src, const void* weight,
                         const float* bias, Activation activation, int pool, void* dst,
                         std::uint8_t* choice) {
  start<false>(stream, sizes, src, weight, bias, activation, pool, dst, choice);
}

void conv2d_d_src_small_images(cudaStream_t stream, const SmallImages& sizes, const void* d_dst,
                               const void* weight, void* d_src) {
  start<true>(stream, sizes, d_dst, weight, nullptr, {ops::Activation::none, 0}, 0, d_src, nullptr);
}

}  // namespace trainyard::backend::cuda::device
