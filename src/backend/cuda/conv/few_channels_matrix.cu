#include "backend/cuda/conv/few_channels_strip.cuh"
#include "backend/cuda/elementwise/elementwise.cuh"

// The forward pass as a matrix product: pixels x taps x outputs. A warp takes 8 pooled pixels and 32 outputs.
// Rows of the product are ordered so that a thread gets all four places of its pooling windows, columns so
// that it gets eight neighbouring outputs: it pools in registers and writes whole vectors.
namespace trainyard::backend::cuda::device {
namespace {

constexpr int kGroup = 8, kOutputTiles = 4, kWeightStride = 34;

// Taps in the order in which they are multiplied; for bf16 in pairs of neighbours, the last of a row alone.
template <typename T, int kKernel, int kChannels>
struct Taps {
  static constexpr int kTogether = sizeof(T) == 2 ? 2 : 1;
  static constexpr int kOfRow = (kKernel + kTogether - 1) / kTogether;
  static constexpr int kCount = kChannels * kKernel * kOfRow;
  static constexpr int kSteps = (kCount + 7) / 8;  // products of 8 words

  int channel, ky, kx;
  __device__ explicit Taps(int index)
      : channel(index / (kKernel * kOfRow)), ky(index / kOfRow % kKernel), kx(index % kOfRow * kTogether) {}
  __device__ bool alone() const { return kTogether == 2 && kx + 1 == kKernel; }
};

template <typename T, int kKernel, int kChannels>
__device__ std::uint32_t weight_word(const T* weight, int output, int index) {
  using Tap = Taps<T, kKernel, kChannels>;
  if (index >= Tap::kCount) return 0;
  const Tap tap(index);
  const T* at = weight + ((output * kKernel + tap.ky) * kKernel + tap.kx) * kChannels + tap.channel;
  if constexpr (sizeof(T) == 2)
    return packed(to_float(at[0]), tap.alone() ? 0.0f : to_float(at[kChannels]));
  else
    return to_tf32(to_float(at[0]));
}

// The operands of a lane: the offsets of its taps from a pixel, the part of the word there that counts, and
// its weights.
template <typename T, int kKernel, int kChannels>
struct Lane {
  using Tap = Taps<T, kKernel, kChannels>;
  int offset[Tap::kSteps][2];
  std::uint32_t mask[Tap::kSteps][2], weight[Tap::kSteps][kOutputTiles][2];

  __device__ Lane(const WordStrip<T, kKernel, kChannels>& strip, const std::uint32_t* weights) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int step = 0; step < Tap::kSteps; ++step)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int index = step * 8 + half * 4 + t;
        const Tap tap(index);
        const bool there = index < Tap::kCount;
        offset[step][half] = there ? strip.at(tap.channel, tap.ky) + tap.kx : 0;
        mask[step][half] = !there ? 0u : tap.alone() ? 0xFFFFu : 0xFFFFFFFFu;
#pragma unroll
        for (int n = 0; n < kOutputTiles; ++n)
          weight[step][n][half] = weights[index * kWeightStride + g / 2 * 8 + n * 2 + g % 2];
      }
  }

  // Multiplies both columns of one row of the windows; `at` is the first pixel that is read.
  __device__ void multiply(const std::uint32_t* at, float (&sum)[kOutputTiles][4]) const {
#pragma unroll
    for (int step = 0; step < Tap::kSteps; ++step) {
      std::uint32_t a[4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        a[half * 2] = at[offset[step][half]] & mask[step][half];
        a[half * 2 + 1] = at[offset[step][half] + 1] & mask[step][half];
      }
#pragma unroll
      for (int n = 0; n < kOutputTiles; ++n)
        multiply_add_words<T>(sum[n], a, weight[step][n][0], weight[step][n][1]);
    }
  }
};

// The first of the largest of four in row-major order. Neither the bias nor a ReLU nor rounding changes the
// order of what it tells apart, so they come behind the pool; but where a ReLU leaves nothing, all are the
// same. So numbers that bf16 rounds alike are no ties here, as they are where the convolution is stored
// first.
template <bool kRelu>
__device__ inline void pool(const float (&sum)[2][kOutputTiles][4], int output, float bias,
                            Activation activation, float& largest, std::uint32_t& place) {
  const int n = output / 2, e = output % 2;
  if constexpr (kRelu) {
    const float a = sum[0][n][e], b = sum[0][n][2 + e], c = sum[1][n][e], d = sum[1][n][2 + e];
    const float above = fmaxf(a, b), below = fmaxf(c, d);
    const float best = fmaxf(above, below) + bias;
    place = below > above ? (d > c ? 3u : 2u) : (b > a ? 1u : 0u);
    place = best > 0 ? place : 0u;
    largest = best < 0 ? 0.0f : best;  // NaN where all four are
  } else {
    place = 0;
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const float next = activate(activation, sum[p / 2][n][p % 2 * 2 + e] + bias);
      if (p == 0 || next > largest) largest = next, place = p;
    }
  }
}

template <bool kRelu, typename T>
__device__ void write_pooled(const float (&sum)[2][kOutputTiles][4], const float (&bias)[8],
                             Activation activation, T* dst, std::uint8_t* choice) {
  constexpr int kPiece = 16 / sizeof(T);
  std::uint32_t places[2] = {};
#pragma unroll
  for (int first = 0; first < 8; first += kPiece) {
    Vector<T, kPiece> best;
#pragma unroll
    for (int i = 0; i < kPiece; ++i) {
      const int output = first + i;
      float largest;
      std::uint32_t place;
      pool<kRelu>(sum, output, bias[output], activation, largest, place);
      best.at[i] = from_float<T>(largest);
      places[output / 4] |= place << (output % 4 * 8);
    }
    *reinterpret_cast<Vector<T, kPiece>*>(dst + first) = best;
  }
  *reinterpret_cast<uint2*>(choice) = make_uint2(places[0], places[1]);
}

template <typename Source, typename T, int kKernel, int kChannels, int kSpan>
__global__ void __launch_bounds__(kStripThreads, kChannels == 1 ? kStripBlocks : 1)
    forward(FewChannels sizes, int tiles, const Source* src, const T* weight, const float* bias,
            Activation activation, T* dst, std::uint8_t* choice) {
  extern __shared__ std::uint32_t words[];
  using Tap = Taps<T, kKernel, kChannels>;
  __shared__ std::uint32_t weights[Tap::kSteps * 8 * kWeightStride];
  const WordStrip<T, kKernel, kChannels> strip(sizes);
  StripAhead<T, kKernel, kChannels, kSpan> ahead;
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, warp = threadIdx.x / 32;
  const int first_output = blockIdx.y * 32, output = first_output + t * 8;
  StripTile tile(sizes, blockIdx.x);
  ahead.fetch(sizes, src, tile.image, tile.first_row);
  for (int i = threadIdx.x; i < Tap::kSteps * 8 * 32; i += blockDim.x)
    weights[i / 32 * kWeightStride + i % 32] =
        weight_word<T, kKernel, kChannels>(weight, first_output + i % 32, i / 32);
  float start[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) start[i] = bias == nullptr ? 0.0f : bias[output + i];
  ahead.store(strip, words);
  __syncthreads();
  const Lane<T, kKernel, kChannels> lane(strip, weights);
  const RowOf row_of(sizes.pooled_w);
  const bool relu = activation.kind == ops::Activation::relu;

  // Two strips take turns: the next one comes while this one is multiplied.
  for (int index = blockIdx.x, turn = 0; index < tiles; index += gridDim.x, turn ^= 1) {
    const bool more = index + gridDim.x < tiles;
    const StripTile next(sizes, more ? index + gridDim.x : index);
    if (more) ahead.fetch(sizes, src, next.image, next.first_row);
#pragma unroll
    for (int round = 0; round < kSpan; ++round) {
      const int place = (round * kStripWarps + warp) * kGroup + g;
      const int pixel = min(place, tile.pixels - 1);
      const int y = row_of(pixel), x = pixel - y * sizes.pooled_w;
      const std::uint32_t* at = words + turn * strip.words() + 2 * (y * strip.stride + x);
      float sum[2][kOutputTiles][4] = {};
      lane.multiply(at, sum[0]);
      lane.multiply(at + strip.stride, sum[1]);
      const std::int64_t row = static_cast<std::int64_t>(tile.image) * sizes.pooled_h + tile.first_row + y;
      const std::int64_t to = (row * sizes.pooled_w + x) * sizes.outputs + output;
      if (place >= tile.pixels) continue;
      if (relu)
        write_pooled<true>(sum, start, activation, dst + to, choice + to);
      else
        write_pooled<false>(sum, start, activation, dst + to, choice + to);
    }
    if (more) ahead.store(strip, words + (turn ^ 1) * strip.words());
    tile = next;
    __syncthreads();
  }
}

}  // namespace

bool FewChannels::has_matrix(bool rounded) const {
  if (pool != 2 || convolved_h < 2 * pooled_h || convolved_w < 2 * pooled_w) return false;
  bool found = false;
  const auto find = [&found]<int, int, int>() { found = true; };
  if (rounded)
    with_matrix_sizes<bf16>(*this, find);
  else
    with_matrix_sizes<float>(*this, find);
  return found;
}

template <typename Source, typename T>
void conv2d_max_pool_few_channels_matrix(cudaStream_t stream, const FewChannels& sizes, int multiprocessors,
                                         const Source* src, const T* weight, const float* bias,
                                         Activation activation, T* dst, std::uint8_t* choice) {
  const int tiles = StripTile::count(sizes);
  const dim3 grid(std::min(tiles, kStripBlocks * multiprocessors), sizes.outputs / 32);
  with_matrix_sizes<T>(sizes, [&]<int kKernel, int kChannels, int kSpan>() {
    const std::size_t bytes = 2 * sizeof(std::uint32_t) * WordStrip<T, kKernel, kChannels>(sizes).words();
    forward<Source, T, kKernel, kChannels, kSpan>
        <<<grid, kStripThreads, bytes, stream>>>(sizes, tiles, src, weight, bias, activation, dst, choice);
  });
  check_launch("conv2d_max_pool_few_channels_matrix");
}

#define TRAINYARD_INSTANTIATE(Source, T)                                                                  \
  template void conv2d_max_pool_few_channels_matrix(cudaStream_t, const FewChannels&, int, const Source*, \
                                                    const T*, const float*, Activation, T*, std::uint8_t*)
TRAINYARD_INSTANTIATE(float, float);
TRAINYARD_INSTANTIATE(float, bf16);
TRAINYARD_INSTANTIATE(bf16, bf16);
#undef TRAINYARD_INSTANTIATE

}  // namespace trainyard::backend::cuda::device
