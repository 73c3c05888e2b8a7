#include "backend/cuda/norm/norm_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

// With z the normalised row and g = d_dst * gamma: d_src = inverse (g - mean(g) - z mean(g z)), d_gamma sums
// d_dst z and d_beta sums d_dst over the rows. RMS norm has no mean(g) and no d_beta. The kernels here are
// for rows that a warp does not take (layer_norm_grad_warps.cu).

namespace {

constexpr int kFewThreads = 256;  // of these, kBlocksOfFew run side by side
constexpr int kBlocksOfFew = 3;
constexpr int kSharedColumns = 2048;  // of a block that has several rows side by side

// A thread has kWidth neighbouring channels of a row.
template <typename D, typename T, int kWidth>
struct PartOfRow {
  Vector<D, kWidth> d_dst{};
  Vector<T, kWidth> src{};
  float inverse = 0, mean = 0;

  __device__ void load(const LayerNormGradient<D, T>& at, const LayerNormPasses& passes, std::int64_t row,
                       std::int64_t channel) {
    if (row >= passes.rows || channel >= passes.channels) return;
    inverse = at.inverse[row];
    mean = at.mean == nullptr ? 0.0f : at.mean[row];
    const std::int64_t from = row * passes.channels + channel;
    d_dst = *reinterpret_cast<const Vector<D, kWidth>*>(at.d_dst + from);
    src = *reinterpret_cast<const Vector<T, kWidth>*>(at.src + from);
  }
  __device__ float normal(int i) const { return (to_float(src.at[i]) - mean) * inverse; }
};

// Adds up two numbers over the threads of a row: `lanes` of them, whole warps. `scratch` is not in use by the
// call before.
template <int kWarps>
__device__ inline void sum_over_row(int lanes, float (&sums)[2], float (&scratch)[kWarps][2]) {
#pragma unroll
  for (int s = 0; s < 2; ++s) {
    sums[s] = warp_sum(sums[s]);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32][s] = sums[s];
  }
  __syncthreads();
  const int warps = lanes / 32, first = threadIdx.x / lanes * warps;
#pragma unroll
  for (int s = 0; s < 2; ++s) {
    sums[s] = 0;
    for (int w = 0; w < warps; ++w) sums[s] += scratch[first + w][s];
  }
}

// The sums of a block over its rows, in the order of its groups, go to parts[block][2][channels].
template <int kWidth>
__device__ inline void leave_parts(const LayerNormPasses& passes, const float (&totals)[2][kWidth],
                                   std::int64_t channel, float* parts) {
  __shared__ float columns[2][kSharedColumns];
  parts += static_cast<std::int64_t>(blockIdx.x) * 2 * passes.channels;
  const int groups = blockDim.x / passes.lanes, group = threadIdx.x / passes.lanes;
  const bool has_channels = channel < passes.channels;
  if (groups > 1) {
    for (int g = 0; g + 1 < groups; ++g) {
      if (g == group && has_channels)
#pragma unroll
        for (int s = 0; s < 2; ++s)
#pragma unroll
          for (int i = 0; i < kWidth; ++i)
            columns[s][channel + i] = totals[s][i] + (g == 0 ? 0.0f : columns[s][channel + i]);
      __syncthreads();
    }
  }
  if (group != groups - 1 || !has_channels) return;
#pragma unroll
  for (int s = 0; s < 2; ++s)
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      parts[s * passes.channels + channel + i] =
          totals[s][i] + (groups == 1 ? 0.0f : columns[s][channel + i]);
}

// A block takes as many rows together as its threads allow, and loads the next ones before it adds up.
template <typename D, typename T, int kWidth, int kMost>
__global__ void __launch_bounds__(kMost, kMost == kFewThreads ? kBlocksOfFew : 1)
    grad_rows_and_parts(LayerNormPasses passes, LayerNormGradient<D, T> at, float* parts, T* d_src) {
  __shared__ float scratch[2][kMost / 32][2];
  const int groups = blockDim.x / passes.lanes;
  const std::int64_t channel = static_cast<std::int64_t>(threadIdx.x % passes.lanes) * kWidth;
  const bool centred = at.mean != nullptr, has_channels = channel < passes.channels;
  const float share = 1 / static_cast<float>(passes.channels);
  float gamma[kWidth] = {}, totals[2][kWidth] = {};
  if (has_channels) load_floats(at.gamma + channel, gamma);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * groups;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * groups + threadIdx.x / passes.lanes;
  PartOfRow<D, T, kWidth> x, next;
  x.load(at, passes, row, channel);
  int turn = 0;
  // All threads go round equally often, because they meet at barriers.
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * groups; first < passes.rows;
       first += stride, row += stride, turn ^= 1) {
    next = {};
    next.load(at, passes, row + stride, channel);
    float sums[2] = {};
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float d = to_float(x.d_dst.at[i]), g = d * gamma[i], z = x.normal(i);
      sums[0] += g;
      sums[1] += g * z;
      totals[0][i] += d * z;
      totals[1][i] += d;
    }
    sum_over_row(passes.lanes, sums, scratch[turn]);
    if (row < passes.rows && has_channels) {
      const float mean_g = centred ? sums[0] * share : 0.0f, mean_gz = sums[1] * share;
      const std::int64_t to = row * passes.channels + channel;
      Vector<T, kWidth> made, term{};
      if (at.term != nullptr) term = *reinterpret_cast<const Vector<T, kWidth>*>(at.term + to);
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        made.at[i] =
            from_float<T>(x.inverse * (to_float(x.d_dst.at[i]) * gamma[i] - mean_g - x.normal(i) * mean_gz) +
                          to_float(term.at[i]));
      *reinterpret_cast<Vector<T, kWidth>*>(d_src + to) = made;
    }
    x = next;
  }
  leave_parts<kWidth>(passes, totals, channel, parts);
}

constexpr int kPartColumns = 32, kPartSlices = 16;

// Each number of d_gamma, behind them of d_beta and of the columns of d_src, is the sum of the parts of all
// blocks.
__global__ void __launch_bounds__(kPartColumns* kPartSlices)
    add_parts(std::int64_t channels, int sums, int blocks, const float* parts, LayerNormSums to) {
  __shared__ float of_slice[kPartSlices][kPartColumns];
  const int lane = threadIdx.x % kPartColumns, slice = threadIdx.x / kPartColumns;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kPartColumns + lane;
  float sum = 0;
  if (c < sums * channels)
#pragma unroll 8
    for (int b = slice; b < blocks; b += kPartSlices) sum += parts[b * sums * channels + c];
  of_slice[slice][lane] = sum;
  __syncthreads();
  if (slice != 0 || c >= sums * channels) return;
  for (int s = 1; s < kPartSlices; ++s) sum += of_slice[s][lane];
  if (float* made = to.at(static_cast<int>(c / channels)); made != nullptr) made[c % channels] = sum;
}

// For rows of any length: the rows by themselves, and then the sums over them.
template <typename D, typename T, int kGroup>
__global__ void __launch_bounds__(kThreads)
    grad_rows(std::int64_t rows, std::int64_t channels, LayerNormGradient<D, T> at, T* d_src) {
  using Group = RowGroup<kGroup>;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * Group::kRowsPerBlock + Group::row_in_block();
  const std::int64_t end = row < rows ? channels : 0, first = row * channels;
  const float inverse = row < rows ? at.inverse[row] : 0.0f,
              mean = row < rows && at.mean != nullptr ? at.mean[row] : 0.0f;
  float sum = 0, sum_normal = 0;
  for (std::int64_t c = Group::lane(); c < end; c += kGroup) {
    const float g = to_float(at.d_dst[first + c]) * at.gamma[c];
    sum += g;
    sum_normal += g * (to_float(at.src[first + c]) - mean) * inverse;
  }
  const float share = 1 / static_cast<float>(channels);
  const float mean_g = at.mean == nullptr ? 0.0f : Group::sum(sum) * share;
  const float mean_gz = Group::sum(sum_normal) * share;
  for (std::int64_t c = Group::lane(); c < end; c += kGroup) {
    const float g = to_float(at.d_dst[first + c]) * at.gamma[c];
    const float z = (to_float(at.src[first + c]) - mean) * inverse;
    const float term = at.term == nullptr ? 0.0f : to_float(at.term[first + c]);
    d_src[first + c] = from_float<T>(inverse * (g - mean_g - z * mean_gz) + term);
  }
}

// One block for kPartColumns channels: its slices share the rows.
template <typename D, typename T>
__global__ void __launch_bounds__(kPartColumns* kPartSlices)
    sum_columns(std::int64_t rows, std::int64_t channels, LayerNormGradient<D, T> at, float* d_gamma,
                float* d_beta) {
  __shared__ float of_slice[2][kPartSlices][kPartColumns];
  const int lane = threadIdx.x % kPartColumns, slice = threadIdx.x / kPartColumns;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kPartColumns + lane;
  float sums[2] = {};
  if (c < channels)
    for (std::int64_t row = slice; row < rows; row += kPartSlices) {
      const float d = to_float(at.d_dst[row * channels + c]);
      const float mean = at.mean == nullptr ? 0.0f : at.mean[row];
      sums[0] += d * (to_float(at.src[row * channels + c]) - mean) * at.inverse[row];
      sums[1] += d;
    }
  of_slice[0][slice][lane] = sums[0];
  of_slice[1][slice][lane] = sums[1];
  __syncthreads();
  if (slice != 0 || c >= channels) return;
  for (int s = 1; s < kPartSlices; ++s) {
    sums[0] += of_slice[0][s][lane];
    sums[1] += of_slice[1][s][lane];
  }
  d_gamma[c] = sums[0];
  if (d_beta != nullptr) d_beta[c] = sums[1];
}

int blocks_for(std::int64_t numbers) { return static_cast<int>((numbers + kPartColumns - 1) / kPartColumns); }

}  // namespace

LayerNormPasses::LayerNormPasses(std::int64_t rows_, std::int64_t channels_, int width_, int multiprocessors,
                                 bool with_columns)
    : rows(rows_), channels(channels_), width(width_), sums(with_columns ? 3 : 2) {
  if (fits_warps(channels)) {
    // Below, one block adds up the parts of all in less time than a second kernel needs to start.
    constexpr std::int64_t kFewParts = 32768, kLeastRows = 2;  // rows: of a warp
    pieces = pieces_of(channels);
    threads = threads_of_warps(pieces);
    const std::int64_t useful = threads / 32 * kLeastRows;
    blocks = static_cast<int>(std::clamp<std::int64_t>((rows + useful - 1) / useful, 1, multiprocessors));
    finishes = blocks * sums * channels <= kFewParts;
    return;
  }
  if (channels % width != 0 || channels / width > kMostThreads) return;
  lanes = static_cast<int>((channels / width + 31) / 32 * 32);
  // Only blocks of narrow rows add up several groups, for which they have shared memory.
  const int groups = std::max(1, kGoodThreads / lanes);
  threads = groups * lanes;
  const int each = std::max(1, kFewThreads * kBlocksOfFew / threads);  // of a multiprocessor
  const std::int64_t useful = (rows + groups - 1) / groups;
  blocks = static_cast<int>(std::clamp<std::int64_t>(useful, 1, multiprocessors * each));
}

template <typename D, typename T>
void layer_norm_grad(cudaStream_t stream, const LayerNormPasses& passes, const LayerNormGradient<D, T>& at,
                     float* parts, std::uint32_t* counter, T* d_src, const LayerNormSums& to) {
  constexpr int kWidth = static_cast<int>(16 / std::max(sizeof(D), sizeof(T)));
  static_assert(LayerNormPasses::kGoodThreads / 2 * 8 <= kSharedColumns);
  const auto add_up = [&] {
    add_parts<<<blocks_for(passes.sums * passes.channels), kPartColumns * kPartSlices, 0, stream>>>(
        passes.channels, passes.sums, passes.blocks, parts, to);
  };
  if (passes.pieces > 0) {
    layer_norm_grad_by_warps(stream, passes, at, parts, counter, d_src, to);
    if (!passes.finishes) add_up();
  } else if (passes.blocks > 0) {
    const auto start = [&](auto kernel) {
      kernel<<<passes.blocks, passes.threads, 0, stream>>>(passes, at, parts, d_src);
    };
    if (passes.threads <= kFewThreads)
      start(grad_rows_and_parts<D, T, kWidth, kFewThreads>);
    else
      start(grad_rows_and_parts<D, T, kWidth, LayerNormPasses::kMostThreads>);
    add_up();
  } else {
    // First the sums: d_src may be d_dst.
    sum_columns<<<blocks_for(passes.channels), kPartColumns * kPartSlices, 0, stream>>>(
        passes.rows, passes.channels, at, to.d_gamma, to.d_beta);
    with_row_groups(passes.rows, passes.channels, [&]<int kGroup>(int blocks) {
      grad_rows<D, T, kGroup><<<blocks, kThreads, 0, stream>>>(passes.rows, passes.channels, at, d_src);
    });
  }
  check_launch("layer_norm_grad");
}

template void layer_norm_grad(cudaStream_t, const LayerNormPasses&, const LayerNormGradient<float, float>&,
                              float*, std::uint32_t*, float*, const LayerNormSums&);
template void layer_norm_grad(cudaStream_t, const LayerNormPasses&, const LayerNormGradient<float, bf16>&,
                              float*, std::uint32_t*, bf16*, const LayerNormSums&);
template void layer_norm_grad(cudaStream_t, const LayerNormPasses&, const LayerNormGradient<bf16, float>&,
                              float*, std::uint32_t*, float*, const LayerNormSums&);
template void layer_norm_grad(cudaStream_t, const LayerNormPasses&, const LayerNormGradient<bf16, bf16>&,
                              float*, std::uint32_t*, bf16*, const LayerNormSums&);

}  // namespace trainyard::backend::cuda::device
