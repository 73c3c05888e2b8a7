#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/channel_sums.h"
#include "backend/cuda/runtime/chunks.h"

namespace trainyard::backend::cuda::device {

struct BatchNormScales {
  const float *gamma, *beta;
  float *running_mean, *running_variance;
  float *mean, *inverse;  // of this batch
  float epsilon, momentum;
};

// Sums over the rows, then mean, inverse deviation and running statistics.
template <typename T>
void batch_norm_statistics(cudaStream_t stream, const ChannelSums& sums, const T* src,
                           const BatchNormScales& scales, const ChannelSumsWorkspace& workspace);

// Computes mean and inverse deviation from the running statistics, for inference.
void batch_norm_running(cudaStream_t stream, const ChannelSums& sums, const BatchNormScales& scales,
                        const ChannelSumsWorkspace& workspace);

// The numbers of a batch whose statistics were found before.
struct BatchNormGiven {
  const float *gamma, *beta, *mean, *inverse;
};
void batch_norm_given(cudaStream_t stream, const ChannelSums& sums, const BatchNormGiven& scales,
                      const ChannelSumsWorkspace& workspace);

// Runs after one of the three above: dst = act(gamma * (src - mean) * inverse + beta [+ residual]); residual
// may be null.
template <typename T>
void batch_norm_apply(cudaStream_t stream, const ChannelSums& sums, const T* src, const T* residual,
                      const ChannelSumsWorkspace& workspace, Activation activation, T* dst);

// The tensors that the gradient reads besides d_dst and src. The gradient passes where dst > 0. `dst` is
// read, or, when it is null and beta is not, computed again, which saves a pass over memory.
template <typename T>
struct BatchNormGradient {
  const T *d_dst, *src, *dst;
  const float *gamma, *beta, *mean, *inverse;
};

template <typename T>
void batch_norm_gradient_sums(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                              float* d_gamma, float* d_beta, const ChannelSumsWorkspace& workspace);
// Runs after batch_norm_gradient_sums().
template <typename T>
void batch_norm_gradient_apply(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                               const ChannelSumsWorkspace& workspace, T* d_src);

// Holds the number of pixels with their neighbouring channels, and the values of ops::LocalResponseNormAttrs.
struct ResponseNorm {
  std::int64_t pixels;
  int channels, radius;
  float k, alpha, beta;
};

// Pixels with more channels do not fit into shared memory.
inline constexpr int kMaxResponseNormChannels = 6144;

// T: float or __nv_bfloat16. dst may be src; d_src may be d_dst or src.
template <typename T>
void local_response_norm(cudaStream_t stream, const ResponseNorm& norm, const T* src, T* dst);
template <typename T>
void local_response_norm_grad(cudaStream_t stream, const ResponseNorm& norm, const T* d_dst, const T* src,
                              T* d_src);

// The vectors of ops::layer_norm_op: gamma and beta have a number for each channel, inverse and mean for each
// row. RMS norm has neither beta nor mean: they are null.
struct LayerNormVectors {
  const float *gamma, *beta;
  float *inverse, *mean;
};

// The kernel normalises src or, where `term` is not null, src + term, which it leaves in `sum`.
template <typename T>
struct LayerNormSource {
  const T *src, *term;
  T* sum;
};

// T: float or __nv_bfloat16. dst may be src.
template <typename T>
void layer_norm(cudaStream_t stream, std::int64_t rows, std::int64_t channels, float epsilon,
                const LayerNormSource<T>& source, const LayerNormVectors& vectors, T* dst);

// The inputs of ops::layer_norm_grad_op; mean is null for RMS norm, and term where nothing is added to d_src.
template <typename D, typename T>
struct LayerNormGradient {
  const D* d_dst;
  const T *src, *term;
  const float *gamma, *inverse, *mean;
};

// The sums over the rows go here. d_beta is null for RMS norm, columns is null where the sums of d_src are
// not wanted.
struct LayerNormSums {
  float *d_gamma, *d_beta, *columns;

  __host__ __device__ float* at(int i) const { return i == 0 ? d_gamma : i == 1 ? d_beta : columns; }
};

// Says how the blocks of the gradient share the rows.
struct LayerNormPasses {
  static constexpr int kMostThreads = 1024, kGoodThreads = 256;

  // Neighbours that a lane loads at once where a warp takes whole rows, and vectors of a row that it keeps.
  static constexpr int kWarpWidth = 4, kMostPieces = 8;

  // width: channels of 16 bytes of the wider one of both tensors. with_columns: those of d_src are summed,
  // too.
  LayerNormPasses(std::int64_t rows, std::int64_t channels, int width, int multiprocessors,
                  bool with_columns);

  std::size_t part_bytes() const {
    return static_cast<std::size_t>(blocks * sums) * static_cast<std::size_t>(channels) * sizeof(float);
  }
  // As many as the registers of a multiprocessor are enough for.
  static constexpr int threads_of_warps(int pieces) { return pieces <= 3 ? 512 : pieces == 4 ? 384 : 256; }
  // 1, 2, 3, 4, 6 or 8
  static constexpr int pieces_of(std::int64_t channels) {
    const auto pieces = static_cast<int>((channels + 32 * kWarpWidth - 1) / (32 * kWarpWidth));
    return pieces > 4 ? (pieces + 1) / 2 * 2 : pieces;
  }
  static constexpr bool fits_warps(std::int64_t channels) {
    return channels % kWarpWidth == 0 && channels <= 32 * kWarpWidth * kMostPieces;
  }

  std::int64_t rows, channels;
  int width, lanes = 1, threads = 0;  // lanes: threads of a row
  int blocks = 0;                     // 0: rows are too long or odd, and simple loops do the work
  int pieces = 0;                     // vectors of a lane where a warp takes whole rows; else 0
  int sums;                           // of every column
  bool finishes = false;              // the last block adds up the parts of all
};

// Calls start.operator()<kPieces, kWhole>() for rows that fit warps; kWhole: all lanes have all their pieces.
template <typename Start>
void with_pieces(std::int64_t channels, const Start& start) {
  const int pieces = LayerNormPasses::pieces_of(channels);
  const auto begin = [&]<int kPieces>() {
    if (pieces != kPieces) return;
    if (channels == 32 * LayerNormPasses::kWarpWidth * kPieces)
      start.template operator()<kPieces, true>();
    else
      start.template operator()<kPieces, false>();
  };
  begin.template operator()<1>();
  begin.template operator()<2>();
  begin.template operator()<3>();
  begin.template operator()<4>();
  begin.template operator()<6>();
  begin.template operator()<8>();
}

// D and T: float or __nv_bfloat16. `parts` holds part_bytes(); `counter` is 0 before and after. d_src may be
// d_dst. Columns of d_src are summed only where fits_warps().
template <typename D, typename T>
void layer_norm_grad(cudaStream_t stream, const LayerNormPasses& passes, const LayerNormGradient<D, T>& at,
                     float* parts, std::uint32_t* counter, T* d_src, const LayerNormSums& to);

// The part of it where a warp takes whole rows: passes.pieces > 0. The parts are left to the caller unless
// passes.finishes.
template <typename D, typename T>
void layer_norm_grad_by_warps(cudaStream_t stream, const LayerNormPasses& passes,
                              const LayerNormGradient<D, T>& at, float* parts, std::uint32_t* counter,
                              T* d_src, const LayerNormSums& to);

struct PenaltyTensor {
  const void* weight;
  std::int64_t elements;
  std::uint32_t first_chunk;
  bool is_bf16;  // otherwise f32
};

// At most so many blocks leave a part of the sum.
inline constexpr int kMaxPenaltyParts = 132 * 8;

// factor * sum of the squares of all tensors, in one launch. `parts` holds kMaxPenaltyParts floats; `counter`
// is 0 before and after. T: float or __nv_bfloat16.
template <typename T>
void l2_penalty(cudaStream_t stream, const Chunks<PenaltyTensor>& chunks, float factor, float* parts,
                std::uint32_t* counter, T* penalty);

}  // namespace trainyard::backend::cuda::device
