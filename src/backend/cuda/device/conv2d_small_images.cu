#include "backend/cuda/device/conv2d_small_images.h"

#include "backend/cuda/device/activation.cuh"
#include "backend/cuda/device/launch.cuh"
#include "backend/cuda/device/tensor_cores.cuh"

namespace trainyard::backend::cuda::device {
namespace {

constexpr int kKernel = 5, kTaps = kKernel * kKernel;
constexpr int kMaxShared = 227 << 10;
constexpr int kFewImages = 66;  // half as many outputs a block then, so that all multiprocessors have one

// Rows of taps whose weights are in shared memory or on their way.
template <typename T>
constexpr int kStages = sizeof(T) == 2 ? 3 : 2;

// Bytes between neighbouring pixels in shared memory; the odd 16 bytes spread them over the banks.
template <typename T, int kChannels>
constexpr int kPixel = kChannels* static_cast<int>(sizeof(T)) + 16;

// A matrix product: pixels (a band of rows of one image) x channels and taps x outputs. Warps share the
// pixels (kPixelWarps, kPixelTiles tiles of 16 each) and the outputs (kOutputWarps, kOutputTiles tiles of 8
// each).
template <typename T, int kChannels_, int kOutputs_, bool kTurned_, int kPixelWarps_, int kPixelTiles_,
          int kOutputWarps_>
struct Shape {
  using Number = T;
  static constexpr int kChannels = kChannels_, kOutputs = kOutputs_;
  static constexpr bool kTurned = kTurned_;  // weights are those of the opposite direction
  static constexpr int kPixelWarps = kPixelWarps_, kPixelTiles = kPixelTiles_, kOutputWarps = kOutputWarps_;
  static constexpr int kOutputTiles = kOutputs / 8 / kOutputWarps;
  static constexpr int kThreadCount = 32 * kPixelWarps * kOutputWarps;
  static constexpr int kPixels = 16 * kPixelWarps * kPixelTiles;
  // Weights of one row of taps: as they lie in memory, kWeightRows rows of kWeightColumns.
  static constexpr int kWeightRows = kTurned ? kChannels : kOutputs;
  static constexpr int kWeightColumns = kTurned ? kOutputs : kChannels;
  // Between rows: transposing f32 reads word by word, of four rows at once.
  static constexpr int kWeightRow =
      kTurned && sizeof(T) == 4 ? (kWeightColumns + 8) * 4 : kPixel<T, kWeightColumns>;
  static constexpr int kWeightStage = kKernel * kWeightRows * kWeightRow;  // bytes

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
  using T = typename S::Number;
  return static_cast<std::size_t>(
      std::max(band.shared_pixels() * kPixel<T, S::kChannels> + kStages<T> * S::kWeightStage,
               S::kPixels * kPixel<T, S::kOutputs>));
}

// The image around output rows [first, first + rows), with zeros outside of it.
template <typename T, int kChannels>
__device__ void load_band(const SmallImages& s, const T* image, int first, int rows, int shared_width,
                          std::uint32_t to) {
  constexpr int kPiece = 16 / sizeof(T), kPieces = kChannels / kPiece;
  const int count = (rows + kKernel - 1) * shared_width * kPieces;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int piece = i % kPieces, pixel = i / kPieces;
    const int y = first + pixel / shared_width - s.pad_top, x = pixel % shared_width - s.pad_left;
    const bool inside = y >= 0 && y < s.height && x >= 0 && x < s.width;
    copy_async_16(to + pixel * kPixel<T, kChannels> + piece * 16,
                  image + (inside ? (y * s.width + x) * kChannels + piece * kPiece : 0), inside);
  }
}

template <typename S>
__device__ void load_weights(const SmallImages& s, const typename S::Number* weight, int first_output, int ky,
                             std::uint32_t to) {
  constexpr int kPiece = 16 / sizeof(typename S::Number);
  constexpr int kPieces = S::kWeightColumns / kPiece, kRowsOfAll = kKernel * S::kWeightRows;
  for (int i = threadIdx.x; i < kRowsOfAll * kPieces; i += blockDim.x) {
    const int piece = i % kPieces, row = i / kPieces % S::kWeightRows, kx = i / (kPieces * S::kWeightRows);
    const int tap = S::kTurned ? kTaps - 1 - (ky * kKernel + kx) : ky * kKernel + kx;
    const std::int64_t from =
        S::kTurned ? (static_cast<std::int64_t>(row) * kTaps + tap) * s.outputs + first_output
                   : (static_cast<std::int64_t>(first_output + row) * kTaps + tap) * S::kChannels;
    copy_async_16(to + (kx * S::kWeightRows + row) * S::kWeightRow + piece * 16,
                  weight + from + piece * kPiece, true);
  }
}

// Two tiles of 8 outputs and 32 bytes of channels of the weights: b[0], b[1] are the first tile's.
template <typename S>
__device__ void load_two_tiles(std::uint32_t weights, int first_row, int column, int channel,
                               std::uint32_t (&b)[4]) {
  using T = typename S::Number;
  const int lane = threadIdx.x % 32;
  if constexpr (!S::kTurned) {
    const int row = first_row + column + (lane & 7) + (lane >> 4) * 8;
    load_matrices(b, weights + row * S::kWeightRow + channel * sizeof(T) + (lane >> 3 & 1) * 16);
  } else if constexpr (sizeof(T) == 2) {
    const int row = first_row + channel + (lane & 7) + (lane >> 3 & 1) * 8;
    load_matrices_transposed(b, weights + row * S::kWeightRow + (column + (lane >> 4) * 8) * sizeof(T));
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      b[i] = load_word(weights + (first_row + channel + lane % 4 + i % 2 * 4) * S::kWeightRow +
                       (column + i / 2 * 8 + lane / 4) * sizeof(T));
  }
  if constexpr (sizeof(T) == 4) round_to_tf32(b);
}

// Adds the products with one row of taps, whose weights lie at `weights`.
template <typename S>
__device__ void add_taps(std::uint32_t weights, const std::uint32_t (&pixels)[S::kPixelTiles],
                         int first_column, float (&sum)[S::kPixelTiles][S::kOutputTiles][4]) {
  using T = typename S::Number;
  constexpr int kStep = 32 / sizeof(T);  // channels of one product
#pragma unroll
  for (int kx = 0; kx < kKernel; ++kx)
#pragma unroll
    for (int k = 0; k < S::kChannels; k += kStep) {
      std::uint32_t a[S::kPixelTiles][4];
#pragma unroll
      for (int m = 0; m < S::kPixelTiles; ++m) {
        load_matrices(a[m], pixels[m] + kx * kPixel<T, S::kChannels> + k * sizeof(T));
        if constexpr (sizeof(T) == 4) round_to_tf32(a[m]);
      }
#pragma unroll
      for (int n = 0; n < S::kOutputTiles; n += 2) {
        std::uint32_t b[4];
        load_two_tiles<S>(weights, kx * S::kWeightRows, first_column + n * 8, k, b);
#pragma unroll
        for (int m = 0; m < S::kPixelTiles; ++m) {
          multiply_add_words<T>(sum[m][n], a[m], b[0], b[1]);
          multiply_add_words<T>(sum[m][n + 1], a[m], b[2], b[3]);
        }
      }
    }
}

template <typename S>
__device__ void store_sums(const float (&sum)[S::kPixelTiles][S::kOutputTiles][4], const float* bias,
                           int first_output, Activation activation, typename S::Number* tile) {
  using T = typename S::Number;
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
        *reinterpret_cast<Vector<T, 2>*>(tile + pixel * (kPixel<T, S::kOutputs> / sizeof(T)) + column) = {
            from_float<T>(activate(activation, sum[m][n][half * 2] + add0)),
            from_float<T>(activate(activation, sum[m][n][half * 2 + 1] + add1))};
      }
  }
}

// From the tile to memory, as it is or the largest of every 2x2.
template <typename S>
__device__ void write_tile(const SmallImages& s, const typename S::Number* tile, int image, int first_row,
                           int rows, int first_output, int pool, typename S::Number* dst,
                           std::uint8_t* choice) {
  using T = typename S::Number;
  constexpr int kPiece = 16 / sizeof(T), kPieces = S::kOutputs / kPiece;
  constexpr int kTilePixel = kPixel<T, S::kOutputs> / sizeof(T);
  using Piece = Vector<T, kPiece>;
  const int valid = min(rows, s.out_h - first_row);
  if (pool == 0) {
    const std::int64_t first = (static_cast<std::int64_t>(image) * s.out_h + first_row) * s.out_w;
    for (int i = threadIdx.x; i < valid * s.out_w * kPieces; i += blockDim.x) {
      const int pixel = i / kPieces, at = i % kPieces * kPiece;
      *reinterpret_cast<Piece*>(dst + (first + pixel) * s.outputs + first_output + at) =
          *reinterpret_cast<const Piece*>(tile + pixel * kTilePixel + at);
    }
    return;
  }
  const int pooled_w = s.out_w / 2;
  const std::int64_t first = (static_cast<std::int64_t>(image) * (s.out_h / 2) + first_row / 2) * pooled_w;
  for (int i = threadIdx.x; i < valid / 2 * pooled_w * kPieces; i += blockDim.x) {
    const int pixel = i / kPieces, at = i % kPieces * kPiece;
    const int corner = pixel / pooled_w * 2 * s.out_w + pixel % pooled_w * 2;
    Piece best = *reinterpret_cast<const Piece*>(tile + corner * kTilePixel + at);
    Vector<std::uint8_t, kPiece> place{};
#pragma unroll
    for (int p = 1; p < 4; ++p) {
      const int other = corner + p / 2 * s.out_w + p % 2;
      const Piece next = *reinterpret_cast<const Piece*>(tile + other * kTilePixel + at);
#pragma unroll
      for (int e = 0; e < kPiece; ++e)
        if (to_float(next.at[e]) > to_float(best.at[e])) best.at[e] = next.at[e], place.at[e] = p;
    }
    const std::int64_t to = (first + pixel) * s.outputs + first_output + at;
    *reinterpret_cast<Piece*>(dst + to) = best;
    *reinterpret_cast<Vector<std::uint8_t, kPiece>*>(choice + to) = place;
  }
}

template <typename S>
__global__ void __launch_bounds__(S::kThreadCount)
    convolve(SmallImages s, Band band, const typename S::Number* src, const typename S::Number* weight,
             const float* bias, Activation activation, int pool, typename S::Number* dst,
             std::uint8_t* choice) {
  extern __shared__ __align__(16) std::uint8_t shared[];
  using T = typename S::Number;
  constexpr int kPixelBytes = kPixel<T, S::kChannels>;
  const int image = blockIdx.x, first_row = blockIdx.y * band.rows, first_output = blockIdx.z * S::kOutputs;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t pixels = shared_address(shared);
  const std::uint32_t weights = pixels + (band.rows + kKernel - 1) * band.shared_width * kPixelBytes;
  load_band<T, S::kChannels>(s, src + static_cast<std::int64_t>(image) * s.height * s.width * S::kChannels,
                             first_row, band.rows, band.shared_width, pixels);
  const auto prefetch = [&](int ky) {
    if (ky < kKernel)
      load_weights<S>(s, weight, first_output, ky, weights + ky % kStages<T> * S::kWeightStage);
    commit_copies();
  };
  for (int ky = 0; ky < kStages<T> - 1; ++ky) prefetch(ky);

  // Where this lane's row of each tile lies: the pixel above and left of all taps.
  std::uint32_t rows[S::kPixelTiles];
#pragma unroll
  for (int m = 0; m < S::kPixelTiles; ++m) {
    const int pixel = (warp / S::kOutputWarps * S::kPixelTiles + m) * 16 + lane % 16;
    const bool valid = pixel < band.rows * s.out_w;
    const int at = valid ? pixel / s.out_w * band.shared_width + pixel % s.out_w : 0;
    rows[m] = pixels + at * kPixelBytes + lane / 16 * 16;
  }
  float sum[S::kPixelTiles][S::kOutputTiles][4] = {};
  for (int ky = 0; ky < kKernel; ++ky) {
    wait_copies<kStages<T> - 2>();
    __syncthreads();  // this stage is there, and the one before it is free
    prefetch(ky + kStages<T> - 1);
    add_taps<S>(weights + ky % kStages<T> * S::kWeightStage, rows,
                warp % S::kOutputWarps * S::kOutputTiles * 8, sum);
#pragma unroll
    for (int m = 0; m < S::kPixelTiles; ++m) rows[m] += band.shared_width * kPixelBytes;
  }
  __syncthreads();
  T* tile = reinterpret_cast<T*>(shared);
  store_sums<S>(sum, bias, first_output, activation, tile);
  __syncthreads();
  write_tile<S>(s, tile, image, first_row, band.rows, first_output, pool, dst, choice);
}

// Calls body.operator()<Shape>() for the sizes there are; false: for none. Pixels of a block: 144 hold an
// image of 12x12, 128 eight rows of 14.
template <typename T, bool kTurned, typename Body>
bool with_shape(const SmallImages& s, const Body& body) {
  const bool twelve = s.out_h * s.out_w == 144, few = s.batch <= kFewImages;
  if (s.channels == 32 && s.outputs % 32 == 0 && few)
    return body.template operator()<Shape<T, 32, 32, kTurned, 4, 2, 2>>(), true;
  if (s.channels == 32 && s.outputs % 64 == 0)
    return body.template operator()<Shape<T, 32, 64, kTurned, 4, 2, 2>>(), true;
  if (s.channels == 64 && s.outputs % 64 == 0 && twelve)
    return body.template operator()<Shape<T, 64, 64, kTurned, 3, 3, 2>>(), true;
  if (s.channels == 64 && s.outputs % 64 == 0)
    return body.template operator()<Shape<T, 64, 64, kTurned, 4, 2, 2>>(), true;
  if (s.channels == 64 && s.outputs == 32)
    return body.template operator()<Shape<T, 64, 32, kTurned, 4, 2, 2>>(), true;
  return false;
}

template <typename T, bool kTurned>
void start(cudaStream_t stream, const SmallImages& s, const T* src, const T* weight, const float* bias,
           Activation activation, int pool, T* dst, std::uint8_t* choice) {
  with_shape<T, kTurned>(s, [&]<typename S>() {
    const Band band = band_of<S>(s, pool);
    const std::size_t bytes = shared_bytes<S>(band);
    TRAINYARD_CUDA(cudaFuncSetAttribute(convolve<S>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
    const dim3 grid(s.batch, (s.out_h + band.rows - 1) / band.rows, s.outputs / S::kOutputs);
    convolve<S>
        <<<grid, S::kThreadCount, bytes, stream>>>(s, band, src, weight, bias, activation, pool, dst, choice);
  });
  check_launch("conv2d_small_images");
}

template <typename T, bool kTurned>
const char* decline(const SmallImages& s) {
  if (s.kernel != kKernel) return "made for kernels of 5x5";
  const char* reason = "made for 32 or 64 channels and outputs";
  with_shape<T, kTurned>(s, [&]<typename S>() {
    const Band band = band_of<S>(s, 2);
    reason = band.rows < 2 || band.rows * s.out_w > S::kPixels ? "images are too wide"
             : shared_bytes<S>(band) > kMaxShared              ? "images are too large for shared memory"
                                                               : nullptr;
  });
  return reason;
}

}  // namespace

template <typename T>
const char* SmallImages::decline_forward() const {
  return decline<T, false>(*this);
}
template <typename T>
const char* SmallImages::decline_d_src() const {
  return decline<T, true>(*this);
}

template <typename T>
void conv2d_small_images(cudaStream_t stream, const SmallImages& sizes, const T* src, const T* weight,
                         const float* bias, Activation activation, int pool, T* dst, std::uint8_t* choice) {
  start<T, false>(stream, sizes, src, weight, bias, activation, pool, dst, choice);
}

template <typename T>
void conv2d_d_src_small_images(cudaStream_t stream, const SmallImages& sizes, const T* d_dst, const T* weight,
                               T* d_src) {
  start<T, true>(stream, sizes, d_dst, weight, nullptr, {ops::Activation::none, 0}, 0, d_src, nullptr);
}

#define TRAINYARD_INSTANTIATE(T)                                                                        \
  template const char* SmallImages::decline_forward<T>() const;                                         \
  template const char* SmallImages::decline_d_src<T>() const;                                           \
  template void conv2d_small_images(cudaStream_t, const SmallImages&, const T*, const T*, const float*, \
                                    Activation, int, T*, std::uint8_t*);                                \
  template void conv2d_d_src_small_images(cudaStream_t, const SmallImages&, const T*, const T*, T*)
TRAINYARD_INSTANTIATE(float);
TRAINYARD_INSTANTIATE(bf16);
#undef TRAINYARD_INSTANTIATE

}  // namespace trainyard::backend::cuda::device
