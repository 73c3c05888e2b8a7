#include <type_traits>

#include "backend/cuda/norm/norm_kernels.h"
#include "backend/cuda/runtime/launch.cuh"
#include "backend/cuda/runtime/parts.cuh"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

// A warp takes whole rows, so that no block waits between two of them: its lanes add up by shuffles, and keep
// their parts of the sums over the rows in registers to the end. The formulas stand in layer_norm_grad.cu.

namespace {

constexpr int kWidth = LayerNormPasses::kWarpWidth;

template <int kPieces>
inline constexpr int kWarpThreads = LayerNormPasses::threads_of_warps(kPieces);

// A PartOfRow holds what a lane has of a row: kPieces times kWidth neighbours. Those behind the end of the
// row stay zero.
template <typename D, typename T, int kPieces>
struct PartOfRow {
  Vector<D, kWidth> d_dst[kPieces]{};
  Vector<T, kWidth> src[kPieces]{};
  float inverse = 0, shift = 0;  // the normalised row is inverse * src + shift

  template <bool kWhole>
  __device__ void load(const LayerNormGradient<D, T>& at, int channels, std::int64_t row) {
    inverse = at.inverse[row];
    shift = at.mean == nullptr ? 0.0f : -at.mean[row] * inverse;
    const D* d_from = at.d_dst + row * channels;
    const T* from = at.src + row * channels;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const int channel = (piece * 32 + threadIdx.x % 32) * kWidth;
      if (!kWhole && channel >= channels) continue;
      d_dst[piece] = *reinterpret_cast<const Vector<D, kWidth>*>(d_from + channel);
      src[piece] = *reinterpret_cast<const Vector<T, kWidth>*>(from + channel);
    }
  }
};

// Adds up the totals of the block's warps in their order, and leaves them in parts[block][kSums][channels].
template <int kPieces, int kSums>
__device__ inline void leave_parts(int channels, const float (&totals)[kSums][kPieces][kWidth],
                                   float* parts) {
  constexpr int kWarps = kWarpThreads<kPieces> / 32;
  __shared__ float of_warp[kWarps][kPieces * 32 * kWidth];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  parts += static_cast<std::int64_t>(blockIdx.x) * kSums * channels;
#pragma unroll
  for (int s = 0; s < kSums; ++s, parts += channels) {
    __syncthreads();  // the sums before may still be read
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece)
#pragma unroll
      for (int i = 0; i < kWidth; ++i) of_warp[warp][(piece * 32 + lane) * kWidth + i] = totals[s][piece][i];
    __syncthreads();
    for (int c = threadIdx.x; c < channels; c += kWarpThreads<kPieces>) {
      float sum = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) sum += of_warp[w][c];
      parts[c] = sum;
    }
  }
}

// A NormalRow holds what is left to do of a row when its sums are known: g = d_dst * gamma, and the
// normalised row z. The totals are d_gamma, d_beta and, where they are wanted, the columns of d_src.
template <int kPieces>
struct NormalRow {
  float g[kPieces][kWidth], z[kPieces][kWidth];
  float sum = 0, sum_normal = 0;  // of g and of g * z, in this lane

  template <bool kWhole, typename D, typename T, int kSums>
  __device__ void take(const PartOfRow<D, T, kPieces>& x, const float* gammas, int channels,
                       float (&totals)[kSums][kPieces][kWidth]) {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const int channel = (piece * 32 + threadIdx.x % 32) * kWidth;
      float gamma[kWidth] = {};
      if (kWhole || channel < channels) load_floats(gammas + channel, gamma);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const float d = to_float(x.d_dst[piece].at[i]);
        g[piece][i] = d * gamma[i];
        z[piece][i] = to_float(x.src[piece].at[i]) * x.inverse + x.shift;
        sum += g[piece][i];
        sum_normal += g[piece][i] * z[piece][i];
        totals[0][piece][i] += d * z[piece][i];
        totals[1][piece][i] += d;
      }
    }
  }
};

// kSums: 3 with the columns of d_src, else 2; kWhole: all lanes have all their pieces. The registers of a row
// are free as soon as NormalRow has taken it, so the next row is on its way while this one is finished.
template <typename D, typename T, int kPieces, bool kWhole, int kSums>
__global__ void __launch_bounds__(kWarpThreads<kPieces>, 1)
    grad_rows_by_warps(LayerNormPasses passes, LayerNormGradient<D, T> at, LayerNormSums to, float* parts,
                       std::uint32_t* counter, T* d_src) {
  constexpr int kWarps = kWarpThreads<kPieces> / 32;
  const int channels = static_cast<int>(passes.channels), first = threadIdx.x % 32 * kWidth;
  const float share = 1 / static_cast<float>(channels);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kWarps;
  std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  float totals[kSums][kPieces][kWidth] = {};
  PartOfRow<D, T, kPieces> x;
  Vector<T, kWidth> term[kPieces]{};
  const auto load_term = [&](std::int64_t of_row) {
    if (at.term == nullptr) return;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece)
      if (const int channel = first + piece * 32 * kWidth; kWhole || channel < channels)
        term[piece] = *reinterpret_cast<const Vector<T, kWidth>*>(at.term + of_row * channels + channel);
  };
  if (row < passes.rows) {
    x.template load<kWhole>(at, channels, row);
    load_term(row);
  }
  for (; row < passes.rows; row += stride) {
    const float inverse = x.inverse;
    NormalRow<kPieces> normal;
    normal.template take<kWhole>(x, at.gamma, channels, totals);
    const bool has_next = row + stride < passes.rows;
    if (has_next) x.template load<kWhole>(at, channels, row + stride);
    const float mean_g = at.mean == nullptr ? 0.0f : warp_sum(normal.sum) * share;
    const float mean_gz = warp_sum(normal.sum_normal) * share;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const int channel = first + piece * 32 * kWidth;
      if (!kWhole && channel >= channels) continue;
      Vector<T, kWidth> made;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        float d = inverse * (normal.g[piece][i] - mean_g - normal.z[piece][i] * mean_gz);
        if (at.term != nullptr) d += to_float(term[piece].at[i]);
        if constexpr (kSums == 3) totals[2][piece][i] += d;
        made.at[i] = from_float<T>(d);
      }
      *reinterpret_cast<Vector<T, kWidth>*>(d_src + row * channels + channel) = made;
    }
    if (has_next) load_term(row + stride);
  }
  leave_parts<kPieces, kSums>(channels, totals, parts);
  if (!passes.finishes || !is_last_block(counter)) return;
  add_parts_of_blocks<kWarpThreads<kPieces>>(passes.blocks, kSums * channels, parts, [&](int c, float sum) {
    if (float* made = to.at(c / channels); made != nullptr) made[c % channels] = sum;
  });
}

}  // namespace

template <typename D, typename T>
void layer_norm_grad_by_warps(cudaStream_t stream, const LayerNormPasses& passes,
                              const LayerNormGradient<D, T>& at, float* parts, std::uint32_t* counter,
                              T* d_src, const LayerNormSums& to) {
  with_pieces(passes.channels, [&]<int kPieces, bool kAll>() {
    // Rows of two types are rare: one kernel for each number of pieces is enough.
    constexpr bool kWhole = kAll && std::is_same_v<D, T>;
    const auto start = [&](auto kernel) {
      kernel<<<passes.blocks, kWarpThreads<kPieces>, 0, stream>>>(passes, at, to, parts, counter, d_src);
    };
    if (passes.sums == 3)
      start(grad_rows_by_warps<D, T, kPieces, kWhole, 3>);
    else
      start(grad_rows_by_warps<D, T, kPieces, kWhole, 2>);
  });
}

template void layer_norm_grad_by_warps(cudaStream_t, const LayerNormPasses&,
                                       const LayerNormGradient<float, float>&, float*, std::uint32_t*, float*,
                                       const LayerNormSums&);
template void layer_norm_grad_by_warps(cudaStream_t, const LayerNormPasses&,
                                       const LayerNormGradient<float, bf16>&, float*, std::uint32_t*, bf16*,
                                       const LayerNormSums&);
template void layer_norm_grad_by_warps(cudaStream_t, const LayerNormPasses&,
                                       const LayerNormGradient<bf16, float>&, float*, std::uint32_t*, float*,
                                       const LayerNormSums&);
template void layer_norm_grad_by_warps(cudaStream_t, const LayerNormPasses&,
                                       const LayerNormGradient<bf16, bf16>&, float*, std::uint32_t*, bf16*,
                                       const LayerNormSums&);

}  // namespace trainyard::backend::cuda::device
