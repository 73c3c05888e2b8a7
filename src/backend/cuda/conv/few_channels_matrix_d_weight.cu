#include "backend/cuda/conv/few_channels_strip.cuh"

// The gradient of the weights as a matrix product: outputs x pixels x taps, and a column of ones for the
// bias. The gradient behind the pool is put back to its place in registers. Rows of the product are ordered
// so that a thread has four neighbouring outputs of one pooled pixel.
namespace trainyard::backend::cuda::device {
namespace {

constexpr int kChunk = 4;  // pooled pixels of one product

template <int kKernel, int kChannels>
struct Columns {
  static constexpr int kTaps = kKernel * kKernel * kChannels, kTiles = (kTaps + 1 + 7) / 8;
};

// The gradient that returns through the pool at one pixel: four outputs, and the place of the window to which
// each belongs.
template <typename T>
class Returning {
 public:
  __device__ void fetch(const T* __restrict__ d_dst, const std::uint8_t* __restrict__ choice,
                        const T* __restrict__ dst, std::int64_t at, bool there) {
    gradient_ = *reinterpret_cast<const Vector<T, 4>*>(d_dst + at);
    place_ = *reinterpret_cast<const Vector<std::uint8_t, 4>*>(choice + at);
    if (dst != nullptr) dst_ = *reinterpret_cast<const Vector<T, 4>*>(dst + at);
    masked_ = dst != nullptr;
    there_ = there;
  }

  // Rows of matrix `tile`: row g is output 2 * tile, row g + 8 the next. For bf16 all four places are one
  // product; for f32 each row of the window is.
  __device__ void matrix(int tile, int window_row, std::uint32_t (&a)[4]) const {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int i = tile * 2 + e;
      const bool passes = there_ && (!masked_ || to_float(dst_.at[i]) > 0);
      const std::uint32_t place = place_.at[i];
      if constexpr (sizeof(T) == 2) {
        const std::uint32_t bits = passes ? *reinterpret_cast<const std::uint16_t*>(&gradient_.at[i]) : 0u;
        const std::uint32_t word = bits << (place % 2 * 16);
        a[e] = place < 2 ? word : 0u;
        a[2 + e] = place < 2 ? 0u : word;
      } else {
        const std::uint32_t bits = passes ? to_tf32(gradient_.at[i]) : 0u;
        a[e] = place == window_row * 2 ? bits : 0u;
        a[2 + e] = place == window_row * 2 + 1 ? bits : 0u;
      }
    }
  }

 private:
  Vector<T, 4> gradient_, dst_;
  Vector<std::uint8_t, 4> place_;
  bool masked_, there_;
};

template <typename T, int kKernel, int kChannels>
struct Sums {
  static constexpr int kTaps = Columns<kKernel, kChannels>::kTaps;
  static constexpr int kTiles = Columns<kKernel, kChannels>::kTiles;
  int offset[kTiles];
  float sum[2][kTiles][4] = {};

  __device__ explicit Sums(const WordStrip<T, kKernel, kChannels>& strip) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      const int tap = n * 8 + threadIdx.x % 32 / 4;
      const int channel = tap % kChannels, kx = tap / kChannels % kKernel, ky = tap / (kChannels * kKernel);
      offset[n] = tap < kTaps ? strip.at(channel, ky) + kx : 0;
    }
  }

  // Reads the image under tile n, one in the bias' column and nothing beyond it.
  __device__ std::uint32_t column(int n, const std::uint32_t* at) const {
    const std::uint32_t word = at[offset[n]];
    if (n < kTiles - 1) return word;
    constexpr std::uint32_t kOnes = sizeof(T) == 2 ? 0x3F803F80u : 0x3F800000u;
    const int tap = n * 8 + threadIdx.x % 32 / 4;
    return tap < kTaps ? word : tap == kTaps ? kOnes : 0u;
  }

  __device__ void add(const Returning<T>& from, const std::uint32_t* at, int stride) {
    constexpr int kProducts = sizeof(T) == 2 ? 1 : 2;
#pragma unroll
    for (int r = 0; r < kProducts; ++r) {
      std::uint32_t a[2][4];
      from.matrix(0, r, a[0]);
      from.matrix(1, r, a[1]);
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        const std::uint32_t* word = at + r * stride;
        const std::uint32_t b0 = column(n, word), b1 = column(n, kProducts == 1 ? word + stride : word + 1);
#pragma unroll
        for (int m = 0; m < 2; ++m) multiply_add_words<T>(sum[m][n], a[m], b0, b1);
      }
    }
  }
};

template <typename T, int kKernel, int kChannels, int kSpan>
__global__ void __launch_bounds__(kStripThreads)
    d_weight_of_blocks(FewChannels sizes, int tiles, const T* d_dst, const std::uint8_t* choice, const T* src,
                       const T* dst, float* partials) {
  extern __shared__ std::uint32_t words[];
  constexpr int kTaps = Columns<kKernel, kChannels>::kTaps, kTiles = Columns<kKernel, kChannels>::kTiles;
  constexpr int kChunks = 2 * kSpan;  // of a warp
  const WordStrip<T, kKernel, kChannels> strip(sizes);
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
  const int first_output = blockIdx.y * 32;
  Sums<T, kKernel, kChannels> sums(strip);
  const RowOf row_of(sizes.pooled_w);
  StripAhead<T, kKernel, kChannels, kSpan> ahead;
  Returning<T> returning[kChunks];
  const auto place_of = [&](int chunk) { return (chunk * kStripWarps + warp) * kChunk + t; };
  const auto fetch = [&](const StripTile& tile) {
    const std::int64_t row = static_cast<std::int64_t>(tile.image) * sizes.pooled_h + tile.first_row;
    ahead.fetch(sizes, src, tile.image, tile.first_row);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int place = place_of(c), pixel = min(place, tile.pixels - 1);
      const std::int64_t at = (row * sizes.pooled_w + pixel) * sizes.outputs + first_output + g * 4;
      returning[c].fetch(d_dst, choice, dst, at, place < tile.pixels);
    }
  };
  fetch(StripTile(sizes, blockIdx.x));
  for (int index = blockIdx.x, turn = 0; index < tiles; index += gridDim.x, turn ^= 1) {
    const std::uint32_t* now = words + turn * strip.words();
    ahead.store(strip, words + turn * strip.words());
    Returning<T> came[kChunks];
#pragma unroll
    for (int c = 0; c < kChunks; ++c) came[c] = returning[c];
    const StripTile tile(sizes, index);
    __syncthreads();
    if (index + gridDim.x < tiles) fetch(StripTile(sizes, index + gridDim.x));
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int pixel = min(place_of(c), tile.pixels - 1);
      const int y = row_of(pixel), x = pixel - y * sizes.pooled_w;
      sums.add(came[c], now + 2 * (y * strip.stride + x), strip.stride);
    }
  }
  __syncthreads();
  // The warps add one after the other, so that the sum does not depend on their timing.
  float* total = reinterpret_cast<float*>(words);
  for (int turn = 0; turn < kStripWarps; ++turn) {
    __syncthreads();
    if (warp == turn)
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int n = 0; n < kTiles; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int tap = n * 8 + t * 2 + i % 2, output = g * 4 + m * 2 + i / 2;
            float& to = total[tap * 32 + output];
            to = sums.sum[m][n][i] + (turn > 0 ? to : 0.0f);
          }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < (kTaps + 1) * 32; i += blockDim.x)
    partials[(static_cast<std::int64_t>(blockIdx.x) * (kTaps + 1) + i / 32) * sizes.outputs + first_output +
             i % 32] = total[i];
}

}  // namespace

template <typename T>
void conv2d_max_pool_d_weight_few_channels_matrix(cudaStream_t stream, const FewChannels& sizes,
                                                  int multiprocessors, const T* d_dst,
                                                  const std::uint8_t* choice, const T* src, const T* dst,
                                                  float* workspace, T* d_weight, float* d_bias) {
  const int tiles = StripTile::count(sizes);
  const int blocks =
      std::min({tiles, kStripBlocks * multiprocessors, few_channels_d_weight_blocks(sizes, multiprocessors)});
  with_matrix_sizes<T>(sizes, [&]<int kKernel, int kChannels, int kSpan>() {
    using Shape = Columns<kKernel, kChannels>;
    const int words = std::max(2 * WordStrip<T, kKernel, kChannels>(sizes).words(), Shape::kTiles * 8 * 32);
    d_weight_of_blocks<T, kKernel, kChannels, kSpan>
        <<<dim3(blocks, sizes.outputs / 32), kStripThreads, sizeof(std::uint32_t) * words, stream>>>(
            sizes, tiles, d_dst, choice, src, dst, workspace);
    check_launch("conv2d_max_pool_d_weight_few_channels_matrix");
  });
  add_first_layer_blocks(stream, sizes, blocks, workspace, d_weight, d_bias);
}

#define TRAINYARD_INSTANTIATE(T)                                                                      \
  template void conv2d_max_pool_d_weight_few_channels_matrix(cudaStream_t, const FewChannels&, int,   \
                                                             const T*, const std::uint8_t*, const T*, \
                                                             const T*, float*, T*, float*)
TRAINYARD_INSTANTIATE(float);
TRAINYARD_INSTANTIATE(bf16);
#undef TRAINYARD_INSTANTIATE

}  // namespace trainyard::backend::cuda::device
