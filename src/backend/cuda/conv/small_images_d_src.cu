#include "backend/cuda/conv/small_images.cuh"

// The gradient of src is a convolution with turned weights, computed as a matrix product: pixels (a band of
// rows of one image) x channels and taps x outputs. The band lies in shared memory; weights go from memory
// straight to registers, each to the one warp that needs it. Warps share the channels, so that each has a
// large tile and none waits for another before the end, when their sums are added.
namespace trainyard::backend::cuda::device {
namespace {

constexpr int kTileOutputs = 32, kOutputTiles = kTileOutputs / 8;  // of a warp

template <typename T, int kChannels_, int kChannelWarps_, int kOutputWarps_, int kPixelWarps_,
          int kPixelTiles_>
struct Shape {
  using Number = T;
  static constexpr int kChannels = kChannels_;
  static constexpr int kChannelWarps = kChannelWarps_, kOutputWarps = kOutputWarps_,
                       kPixelWarps = kPixelWarps_, kPixelTiles = kPixelTiles_;
  static constexpr int kThreadCount = 32 * kChannelWarps * kOutputWarps * kPixelWarps;
  static constexpr int kOutputs = kTileOutputs * kOutputWarps;
  static constexpr int kPixels = 16 * kPixelWarps * kPixelTiles;
  static constexpr int kStep = 32 / static_cast<int>(sizeof(T));    // channels of one product
  static constexpr int kSteps = kChannels / kStep / kChannelWarps;  // of a warp, for every tap
  // Sums in shared memory, by channel warp: floats between pixels.
  static constexpr int kSumPixel = kOutputs + 4;
  static constexpr int kSumBytes = kChannelWarps * kPixels * kSumPixel * static_cast<int>(sizeof(float));

  static_assert(kSteps * kStep * kChannelWarps == kChannels);
};

template <typename S>
std::size_t shared_bytes(const Band& band) {
  return static_cast<std::size_t>(
      std::max(band.shared_pixels() * kPixel<typename S::Number, S::kChannels>, S::kSumBytes));
}

// The band is there; as tf32 where it is f32: each thread rounds what it copied itself.
template <typename S>
__device__ void wait_for_band(const Band& band, std::uint8_t* shared) {
  using T = typename S::Number;
  commit_copies();
  wait_copies<0>();
  if constexpr (sizeof(T) == 4) {
    constexpr int kPieces = S::kChannels / 4;
    for (int i = threadIdx.x; i < band.shared_pixels() * kPieces; i += blockDim.x) {
      auto* four =
          reinterpret_cast<uint4*>(shared + i / kPieces * kPixel<T, S::kChannels> + i % kPieces * 16);
      std::uint32_t words[4] = {four->x, four->y, four->z, four->w};
      round_to_tf32(words);
      *four = make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
  __syncthreads();
}

// The weights of one tap, kStep channels from `channel` on, and 32 outputs: column g of tile j is output 4 g
// + j, so that what lies side by side in memory is loaded at once, and a thread ends with eight neighbouring
// outputs.
template <typename S>
struct Weights {
  using T = typename S::Number;
  std::uint32_t of[kOutputTiles][2];

  __device__ void load(const SmallImages& s, const T* __restrict__ weight, int first_output, int tap,
                       int channel) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int output = first_output + g * 4;
    const T* at =
        weight + (static_cast<std::int64_t>(channel) * kTaps + kTaps - 1 - tap) * s.outputs + output;
    const int next = kTaps * s.outputs;  // channel
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if constexpr (sizeof(T) == 4) {
        const auto four = __ldg(reinterpret_cast<const uint4*>(at + (t + half * 4) * next));
        of[0][half] = four.x, of[1][half] = four.y, of[2][half] = four.z, of[3][half] = four.w;
      } else {
        const auto low = __ldg(reinterpret_cast<const uint2*>(at + (t * 2 + half * 8) * next));
        const auto high = __ldg(reinterpret_cast<const uint2*>(at + (t * 2 + half * 8 + 1) * next));
        of[0][half] = __byte_perm(low.x, high.x, 0x5410);
        of[1][half] = __byte_perm(low.x, high.x, 0x7632);
        of[2][half] = __byte_perm(low.y, high.y, 0x5410);
        of[3][half] = __byte_perm(low.y, high.y, 0x7632);
      }
    }
  }
};

template <typename S>
using WarpSums = float[S::kPixelTiles][kOutputTiles][4];

// Adds all products of this warp; pixels[m] is where this lane's row of tile m begins.
template <typename S>
__device__ void add_products(const SmallImages& s, const typename S::Number* weight, int first_output,
                             int first_channel, int shared_width,
                             const std::uint32_t (&pixels)[S::kPixelTiles], WarpSums<S>& sum) {
  using T = typename S::Number;
  constexpr int kCount = kTaps * S::kSteps, kAhead = 2;
  Weights<S> weights[kAhead + 1];
  const auto load = [&](int i) {
    weights[i % (kAhead + 1)].load(s, weight, first_output, i / S::kSteps,
                                   first_channel + i % S::kSteps * S::kStep);
  };
#pragma unroll
  for (int i = 0; i < kAhead; ++i) load(i);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i + kAhead < kCount) load(i + kAhead);
    const int tap = i / S::kSteps;
    const std::uint32_t offset = (tap / kKernel * shared_width + tap % kKernel) * kPixel<T, S::kChannels> +
                                 (first_channel + i % S::kSteps * S::kStep) * sizeof(T);
    Weights<S>& now = weights[i % (kAhead + 1)];
    if constexpr (sizeof(T) == 4)
#pragma unroll
      for (int j = 0; j < kOutputTiles; ++j) round_to_tf32(now.of[j]);
#pragma unroll
    for (int m = 0; m < S::kPixelTiles; ++m) {
      std::uint32_t a[4];
      load_matrices(a, pixels[m] + offset);
#pragma unroll
      for (int j = 0; j < kOutputTiles; ++j) multiply_add_words<T>(sum[m][j], a, now.of[j][0], now.of[j][1]);
    }
  }
}

// Into this channel warp's part of shared memory: eight neighbouring outputs of two pixels of every tile.
template <typename S>
__device__ void store_sums(const WarpSums<S>& sum, int channel_warp, int first_pixel, int first_output,
                           float* shared) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int m = 0; m < S::kPixelTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int pixel = channel_warp * S::kPixels + first_pixel + m * 16 + half * 8 + g;
      float* to = shared + pixel * S::kSumPixel + first_output + t * 8;
#pragma unroll
      for (int e = 0; e < 2; ++e)
        *reinterpret_cast<float4*>(to + e * 4) =
            make_float4(sum[m][0][half * 2 + e], sum[m][1][half * 2 + e], sum[m][2][half * 2 + e],
                        sum[m][3][half * 2 + e]);
    }
}

// From the sums to memory.
template <typename S>
__device__ void write_band(const SmallImages& s, const float* shared, int image, int first_row, int rows,
                           int first_output, typename S::Number* dst) {
  using T = typename S::Number;
  constexpr int kPiece = 16 / sizeof(T), kPieces = S::kOutputs / kPiece;
  const std::int64_t first = (static_cast<std::int64_t>(image) * s.out_h + first_row) * s.out_w;
  for (int i = threadIdx.x; i < min(rows, s.out_h - first_row) * s.out_w * kPieces; i += blockDim.x) {
    const int pixel = i / kPieces, output = i % kPieces * kPiece;
    float sum[kPiece] = {};
#pragma unroll
    for (int w = 0; w < S::kChannelWarps; ++w)
#pragma unroll
      for (int e = 0; e < kPiece; e += 4) {
        const auto four =
            *reinterpret_cast<const float4*>(shared + (w * S::kPixels + pixel) * S::kSumPixel + output + e);
        sum[e] += four.x, sum[e + 1] += four.y, sum[e + 2] += four.z, sum[e + 3] += four.w;
      }
    Vector<T, kPiece> made;
#pragma unroll
    for (int e = 0; e < kPiece; ++e) made.at[e] = from_float<T>(sum[e]);
    *reinterpret_cast<Vector<T, kPiece>*>(dst + (first + pixel) * s.outputs + first_output + output) = made;
  }
}

template <typename S>
__global__ void __launch_bounds__(S::kThreadCount, 1)
    convolve_turned(SmallImages s, Band band, const typename S::Number* src, const typename S::Number* weight,
                    typename S::Number* dst) {
  extern __shared__ __align__(16) std::uint8_t shared[];
  using T = typename S::Number;
  const int image = blockIdx.x, first_row = blockIdx.y * band.rows, first_output = blockIdx.z * S::kOutputs;
  const int warp = threadIdx.x / 32, channel_warp = warp % S::kChannelWarps,
            output_warp = warp / S::kChannelWarps % S::kOutputWarps,
            first_pixel = warp / (S::kChannelWarps * S::kOutputWarps) * S::kPixelTiles * 16;
  load_band<T, S::kChannels>(s, src + static_cast<std::int64_t>(image) * s.height * s.width * S::kChannels,
                             first_row, band, shared_address(shared));
  std::uint32_t pixels[S::kPixelTiles];
  find_rows<T, S::kChannels>(s, band, first_pixel, shared_address(shared), pixels);
  wait_for_band<S>(band, shared);
  WarpSums<S> sum = {};
  add_products<S>(s, weight, first_output + output_warp * kTileOutputs, channel_warp * S::kSteps * S::kStep,
                  band.shared_width, pixels, sum);
  __syncthreads();
  auto* sums = reinterpret_cast<float*>(shared);
  store_sums<S>(sum, channel_warp, first_pixel, output_warp * kTileOutputs, sums);
  __syncthreads();
  write_band<S>(s, sums, image, first_row, band.rows, first_output, dst);
}

// Calls body.operator()<Shape>() for the sizes there are; false: for none. Tiles of pixels: 7 hold half of an
// image of 14x14, 9 one of 12x12.
template <typename T, typename Body>
bool with_shape(const SmallImages& s, const Body& body) {
  const auto run = [&]<typename S>() { return body.template operator()<S>(), true; };
  if (s.channels == 64 && s.outputs % 64 == 0) return run.template operator()<Shape<T, 64, 4, 2, 1, 9>>();
  if constexpr (sizeof(T) == 2) {
    if (s.channels == 64 && s.outputs == 32) return run.template operator()<Shape<T, 64, 4, 1, 2, 4>>();
    if (s.channels == 32 && s.outputs % 64 == 0) return run.template operator()<Shape<T, 32, 2, 2, 2, 4>>();
    if (s.channels == 32 && s.outputs == 32) return run.template operator()<Shape<T, 32, 2, 1, 4, 2>>();
  } else {
    if (s.channels == 64 && s.outputs == 32) return run.template operator()<Shape<T, 64, 8, 1, 1, 7>>();
    if (s.channels == 32 && s.outputs % 64 == 0) return run.template operator()<Shape<T, 32, 4, 2, 1, 7>>();
    if (s.channels == 32 && s.outputs == 32) return run.template operator()<Shape<T, 32, 4, 1, 2, 4>>();
  }
  return false;
}

}  // namespace

template <typename T>
const char* SmallImages::decline_d_src() const {
  if (kernel != kKernel) return "made for kernels of 5x5";
  const char* reason = "made for 32 or 64 channels and outputs";
  with_shape<T>(*this, [&]<typename S>() {
    const Band band(*this, S::kPixels, 0);
    reason = band.decline(*this, S::kPixels, shared_bytes<S>(band));
  });
  return reason;
}

template <typename T>
void conv2d_d_src_small_images(cudaStream_t stream, const SmallImages& sizes, const T* d_dst, const T* weight,
                               T* d_src) {
  with_shape<T>(sizes, [&]<typename S>() {
    const Band band(sizes, S::kPixels, 0);
    const std::size_t bytes = shared_bytes<S>(band);
    TRAINYARD_CUDA(cudaFuncSetAttribute(convolve_turned<S>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
    const dim3 grid(sizes.batch, (sizes.out_h + band.rows - 1) / band.rows, sizes.outputs / S::kOutputs);
    convolve_turned<S><<<grid, S::kThreadCount, bytes, stream>>>(sizes, band, d_dst, weight, d_src);
  });
  check_launch("conv2d_d_src_small_images");
}

#define TRAINYARD_INSTANTIATE(T)                              \
  template const char* SmallImages::decline_d_src<T>() const; \
  template void conv2d_d_src_small_images(cudaStream_t, const SmallImages&, const T*, const T*, T*)
TRAINYARD_INSTANTIATE(float);
TRAINYARD_INSTANTIATE(bf16);
#undef TRAINYARD_INSTANTIATE

}  // namespace trainyard::backend::cuda::device
