#include "backend/cuda/conv/small_images.cuh"
#include "backend/cuda/elementwise/elementwise.cuh"

namespace trainyard::backend::cuda::device {
namespace {

constexpr int kFewImages = 66;  // half as many outputs a block then, so that all multiprocessors have one
constexpr int kStages = 3;      // rows of taps whose weights are in shared memory or on their way

// A matrix product: pixels (a band of rows of one image) x channels and taps x outputs. Warps share the
// pixels (kPixelWarps, kPixelTiles tiles of 16 each) and the outputs (kOutputWarps, kOutputTiles tiles of 8
// each).
template <int kChannels_, int kOutputs_, int kPixelWarps_, int kPixelTiles_, int kOutputWarps_>
struct Shape {
  static constexpr int kChannels = kChannels_, kOutputs = kOutputs_;
  static constexpr int kPixelWarps = kPixelWarps_, kPixelTiles = kPixelTiles_, kOutputWarps = kOutputWarps_;
  static constexpr int kOutputTiles = kOutputs / 8 / kOutputWarps;
  static constexpr int kThreadCount = 32 * kPixelWarps * kOutputWarps;
  static constexpr int kPixels = 16 * kPixelWarps * kPixelTiles;
  static constexpr int kPixelBytes = kPixel<bf16, kChannels>, kTilePixel = kOutputs + 8;
  static constexpr int kWeightStage = kKernel * kOutputs * kPixelBytes;  // of one row of taps

  static_assert(kOutputTiles % 2 == 0);
};

template <typename S>
std::size_t shared_bytes(const Band& band) {
  const int working = band.shared_pixels() * S::kPixelBytes + kStages * S::kWeightStage;
  return static_cast<std::size_t>(
      std::max(working, S::kPixels * S::kTilePixel * static_cast<int>(sizeof(bf16))));
}

template <typename S>
__device__ void load_weights(const bf16* weight, int first_output, int ky, std::uint32_t to) {
  constexpr int kPieces = S::kChannels / 8;
  for (int i = threadIdx.x; i < kKernel * S::kOutputs * kPieces; i += blockDim.x) {
    const int piece = i % kPieces, row = i / kPieces % S::kOutputs, kx = i / (kPieces * S::kOutputs);
    const std::int64_t from =
        (static_cast<std::int64_t>(first_output + row) * kTaps + ky * kKernel + kx) * S::kChannels;
    copy_async_16(to + (kx * S::kOutputs + row) * S::kPixelBytes + piece * 16, weight + from + piece * 8,
                  true);
  }
}

// Adds the products with one row of taps, whose weights lie at `weights`.
template <typename S>
__device__ void add_taps(std::uint32_t weights, const std::uint32_t (&pixels)[S::kPixelTiles],
                         int first_column, float (&sum)[S::kPixelTiles][S::kOutputTiles][4]) {
  const int lane = threadIdx.x % 32;
  weights += ((lane & 7) + (lane >> 4) * 8 + first_column) * S::kPixelBytes + (lane >> 3 & 1) * 16;
#pragma unroll
  for (int kx = 0; kx < kKernel; ++kx)
#pragma unroll
    for (int k = 0; k < S::kChannels; k += 16) {
      std::uint32_t a[S::kPixelTiles][4];
#pragma unroll
      for (int m = 0; m < S::kPixelTiles; ++m)
        load_matrices(a[m], pixels[m] + kx * S::kPixelBytes + k * sizeof(bf16));
#pragma unroll
      for (int n = 0; n < S::kOutputTiles; n += 2) {
        std::uint32_t b[4];
        load_matrices(b, weights + (kx * S::kOutputs + n * 8) * S::kPixelBytes + k * sizeof(bf16));
#pragma unroll
        for (int m = 0; m < S::kPixelTiles; ++m) {
          multiply_add_bf16(sum[m][n], a[m], b[0], b[1]);
          multiply_add_bf16(sum[m][n + 1], a[m], b[2], b[3]);
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
        *reinterpret_cast<__nv_bfloat162*>(tile + pixel * S::kTilePixel + column) =
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
          *reinterpret_cast<const Eight*>(tile + pixel * S::kTilePixel + at);
    }
    return;
  }
  const int pooled_w = s.out_w / 2;
  const std::int64_t first = (static_cast<std::int64_t>(image) * (s.out_h / 2) + first_row / 2) * pooled_w;
  for (int i = threadIdx.x; i < valid / 2 * pooled_w * kPieces; i += blockDim.x) {
    const int pixel = i / kPieces, at = i % kPieces * 8;
    const int corner = pixel / pooled_w * 2 * s.out_w + pixel % pooled_w * 2;
    Eight best = *reinterpret_cast<const Eight*>(tile + corner * S::kTilePixel + at);
    Vector<std::uint8_t, 8> place{};
#pragma unroll
    for (int p = 1; p < 4; ++p) {
      const int other = corner + p / 2 * s.out_w + p % 2;
      const Eight next = *reinterpret_cast<const Eight*>(tile + other * S::kTilePixel + at);
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
  const int warp = threadIdx.x / 32;
  const std::uint32_t pixels = shared_address(shared);
  const std::uint32_t weights = pixels + band.shared_pixels() * S::kPixelBytes;
  load_band<bf16, S::kChannels>(s, src + static_cast<std::int64_t>(image) * s.height * s.width * S::kChannels,
                                first_row, band, pixels);
  const auto prefetch = [&](int ky) {
    if (ky < kKernel) load_weights<S>(weight, first_output, ky, weights + ky % kStages * S::kWeightStage);
    commit_copies();
  };
  for (int ky = 0; ky < kStages - 1; ++ky) prefetch(ky);
  std::uint32_t rows[S::kPixelTiles];
  find_rows<bf16, S::kChannels>(s, band, warp / S::kOutputWarps * S::kPixelTiles * 16, pixels, rows);
  float sum[S::kPixelTiles][S::kOutputTiles][4] = {};
  for (int ky = 0; ky < kKernel; ++ky) {
    wait_copies<kStages - 2>();
    __syncthreads();  // this stage is there, and the one before it is free
    prefetch(ky + kStages - 1);
    add_taps<S>(weights + ky % kStages * S::kWeightStage, rows, warp % S::kOutputWarps * S::kOutputTiles * 8,
                sum);
#pragma unroll
    for (int m = 0; m < S::kPixelTiles; ++m) rows[m] += band.shared_width * S::kPixelBytes;
  }
  __syncthreads();
  store_sums<S>(sum, bias, first_output, activation, shared);
  __syncthreads();
  write_tile<S>(s, shared, image, first_row, band.rows, first_output, pool, dst, choice);
}

// Calls body.operator()<Shape>() for the sizes there are; false: for none. Pixels of a block: 144 hold an
// image of 12x12, 128 eight rows of 14.
template <typename Body>
bool with_shape(const SmallImages& s, const Body& body) {
  const bool twelve = s.out_h * s.out_w == 144, few = s.batch <= kFewImages;
  if (s.channels == 32 && s.outputs % 32 == 0 && (few || s.outputs % 64 != 0))
    return body.template operator()<Shape<32, 32, 4, 2, 2>>(), true;
  if (s.channels == 32 && s.outputs % 64 == 0)
    return body.template operator()<Shape<32, 64, 4, 2, 2>>(), true;
  if (s.channels == 64 && s.outputs % 64 == 0 && twelve)
    return body.template operator()<Shape<64, 64, 3, 3, 2>>(), true;
  if (s.channels == 64 && s.outputs % 64 == 0)
    return body.template operator()<Shape<64, 64, 4, 2, 2>>(), true;
  if (s.channels == 64 && s.outputs == 32) return body.template operator()<Shape<64, 32, 4, 2, 2>>(), true;
  return false;
}

}  // namespace

const char* SmallImages::decline_forward() const {
  if (kernel != kKernel) return "made for kernels of 5x5";
  const char* reason = "made for 32 or 64 channels and outputs";
  with_shape(*this, [&]<typename S>() {
    const Band band(*this, S::kPixels, 2);
    reason = band.decline(*this, S::kPixels, shared_bytes<S>(band));
  });
  return reason;
}

void conv2d_small_images(cudaStream_t stream, const SmallImages& sizes, const void* src, const void* weight,
                         const float* bias, Activation activation, int pool, void* dst,
                         std::uint8_t* choice) {
  with_shape(sizes, [&]<typename S>() {
    const Band band(sizes, S::kPixels, pool);
    const std::size_t bytes = shared_bytes<S>(band);
    TRAINYARD_CUDA(cudaFuncSetAttribute(convolve<S>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
    const dim3 grid(sizes.batch, (sizes.out_h + band.rows - 1) / band.rows, sizes.outputs / S::kOutputs);
    convolve<S><<<grid, S::kThreadCount, bytes, stream>>>(sizes, band, static_cast<const bf16*>(src),
                                                          static_cast<const bf16*>(weight), bias, activation,
                                                          pool, static_cast<bf16*>(dst), choice);
  });
  check_launch("conv2d_small_images");
}

}  // namespace trainyard::backend::cuda::device
