// With b_c = k + alpha * sum of the squares around c:  dst_c = src_c * b_c^-beta  and
// d_src_c = d_dst_c * b_c^-beta - 2 alpha beta src_c * sum around c of (d_dst src b^(-beta - 1)).

#include "backend/cuda/norm/norm_kernels.h"
#include "backend/cuda/runtime/chunks.cuh"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// base^-beta; the usual beta needs no logarithm.
__device__ inline float power(const ResponseNorm& norm, float base) {
  if (norm.beta == 0.75f) {
    const float root = rsqrtf(base);
    return root * sqrtf(root);
  }
  return powf(base, -norm.beta);
}

constexpr int kLane = 8;  // channels a thread has in registers

template <typename T>
__device__ inline void load_lane(const T* from, bool valid, float (&to)[kLane]) {
  constexpr int kWidth = 16 / sizeof(T);
#pragma unroll
  for (int v = 0; v < kLane; v += kWidth) {
    Vector<T, kWidth> loaded{};
    if (valid) loaded = *reinterpret_cast<const Vector<T, kWidth>*>(from + v);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) to[v + i] = to_float(loaded.at[i]);
  }
}

template <typename T>
__device__ inline void store_lane(T* to, const float (&from)[kLane]) {
  constexpr int kWidth = 16 / sizeof(T);
#pragma unroll
  for (int v = 0; v < kLane; v += kWidth) {
    Vector<T, kWidth> made;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) made.at[i] = from_float<T>(from[v + i]);
    *reinterpret_cast<Vector<T, kWidth>*>(to + v) = made;
  }
}

// sums[i] = sum of x over the channels i - kRadius .. i + kRadius; what lies outside this thread's channels
// comes from the lanes beside it, nothing from other pixels.
template <int kRadius>
__device__ inline void window_sums(const float (&x)[kLane], bool first, bool last, float (&sums)[kLane]) {
  float around[kLane + 2 * kRadius];
#pragma unroll
  for (int i = 0; i < kLane; ++i) around[kRadius + i] = x[i];
#pragma unroll
  for (int i = 0; i < kRadius; ++i) {
    const float left = __shfl_up_sync(0xFFFFFFFFu, x[kLane - kRadius + i], 1);
    const float right = __shfl_down_sync(0xFFFFFFFFu, x[i], 1);
    around[i] = first ? 0.0f : left;
    around[kRadius + kLane + i] = last ? 0.0f : right;
  }
#pragma unroll
  for (int i = 0; i < kLane; ++i) {
    sums[i] = 0;
#pragma unroll
    for (int j = 0; j <= 2 * kRadius; ++j) sums[i] += around[i + j];
  }
}

// Everything in registers: a few neighbouring lanes of a warp have one pixel. REQUIRES: channels / kLane
// divides 32, radius kRadius. Without d_dst: the forward pass.
template <typename T, int kRadius, bool kGrad>
__global__ void __launch_bounds__(kThreads)
    norm_lanes(ResponseNorm norm, const T* d_dst, const T* src, T* made) {
  const int lanes = norm.channels / kLane, position = static_cast<int>(threadIdx.x) % lanes;
  const bool first = position == 0, last = position == lanes - 1;
  const std::int64_t count = norm.pixels * lanes, stride = static_cast<std::int64_t>(thread_count());
  const std::int64_t warp_begin = static_cast<std::int64_t>(thread_index()) - threadIdx.x % 32;
  for (std::int64_t begin = warp_begin; begin < count; begin += stride) {
    const std::int64_t i = begin + threadIdx.x % 32;
    float x[kLane], g[kLane], sums[kLane], scale[kLane], squares[kLane];
    load_lane(src + i * kLane, i < count, x);
    if constexpr (kGrad) load_lane(d_dst + i * kLane, i < count, g);
#pragma unroll
    for (int c = 0; c < kLane; ++c) squares[c] = x[c] * x[c];
    window_sums<kRadius>(squares, first, last, sums);
    float products[kLane];
#pragma unroll
    for (int c = 0; c < kLane; ++c) {
      const float base = norm.k + norm.alpha * sums[c];
      scale[c] = power(norm, base);
      if constexpr (kGrad)
        products[c] = g[c] * x[c] * scale[c] / base;
      else
        x[c] *= scale[c];
    }
    if constexpr (kGrad) {
      window_sums<kRadius>(products, first, last, sums);
#pragma unroll
      for (int c = 0; c < kLane; ++c) x[c] = g[c] * scale[c] - 2 * norm.alpha * norm.beta * x[c] * sums[c];
    }
    if (i < count) store_lane(made + i * kLane, x);
  }
}

// Any number of channels and any radius: a block has a tile of whole pixels in shared memory.
template <typename T, bool kGrad>
__global__ void __launch_bounds__(kThreads)
    norm_tiles(ResponseNorm norm, int tile_pixels, const T* d_dst, const T* src, T* made) {
  extern __shared__ float tile_words[];
  float *values = tile_words, *products = tile_words + tile_pixels * norm.channels;
  for (std::int64_t pixel = static_cast<std::int64_t>(blockIdx.x) * tile_pixels; pixel < norm.pixels;
       pixel += static_cast<std::int64_t>(gridDim.x) * tile_pixels) {
    const std::int64_t left = norm.pixels - pixel;
    const int count = static_cast<int>(left < tile_pixels ? left : tile_pixels) * norm.channels;
    const std::int64_t offset = pixel * norm.channels;
    const auto window_sum = [&](int i, const auto& value) {
      const int c = i % norm.channels, begin = i - min(c, norm.radius);
      const int end = i + min(norm.channels - 1 - c, norm.radius);
      float sum = 0;
      for (int j = begin; j <= end; ++j) sum += value(j);
      return sum;
    };
    const auto base_at = [&](int i) {
      return norm.k + norm.alpha * window_sum(i, [&](int j) { return values[j] * values[j]; });
    };
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += kThreads) values[i] = to_float(src[offset + i]);
    __syncthreads();
    if constexpr (!kGrad) {
      for (int i = threadIdx.x; i < count; i += kThreads)
        made[offset + i] = from_float<T>(values[i] * power(norm, base_at(i)));
    } else {
      for (int i = threadIdx.x; i < count; i += kThreads) {
        const float base = base_at(i);
        products[i] = to_float(d_dst[offset + i]) * values[i] * power(norm, base) / base;
      }
      __syncthreads();
      for (int i = threadIdx.x; i < count; i += kThreads) {
        const float sum = window_sum(i, [&](int j) { return products[j]; });
        made[offset + i] = from_float<T>(to_float(d_dst[offset + i]) * power(norm, base_at(i)) -
                                         2 * norm.alpha * norm.beta * values[i] * sum);
      }
    }
  }
}

bool fits_lanes(const ResponseNorm& norm) {
  return norm.channels % kLane == 0 && 32 % (norm.channels / kLane) == 0;
}

template <typename T, bool kGrad>
void start(cudaStream_t stream, const ResponseNorm& norm, const T* d_dst, const T* src, T* made) {
  const auto lanes = static_cast<std::size_t>(norm.pixels) * static_cast<std::size_t>(norm.channels) / kLane;
  if (fits_lanes(norm) && norm.radius == 4) {
    norm_lanes<T, 4, kGrad><<<grid_for(lanes), kThreads, 0, stream>>>(norm, d_dst, src, made);
  } else if (fits_lanes(norm) && norm.radius == 2) {
    norm_lanes<T, 2, kGrad><<<grid_for(lanes), kThreads, 0, stream>>>(norm, d_dst, src, made);
  } else {
    const int tile_pixels = std::max(1, 2048 / norm.channels);
    const std::size_t bytes = static_cast<std::size_t>(tile_pixels) *
                              static_cast<std::size_t>(norm.channels) * sizeof(float) * (kGrad ? 2 : 1);
    const int blocks = grid_for(static_cast<std::size_t>(norm.pixels), static_cast<std::size_t>(tile_pixels));
    norm_tiles<T, kGrad><<<blocks, kThreads, bytes, stream>>>(norm, tile_pixels, d_dst, src, made);
  }
  check_launch(kGrad ? "local_response_norm_grad" : "local_response_norm");
}

}  // namespace

template <typename T>
void local_response_norm(cudaStream_t stream, const ResponseNorm& norm, const T* src, T* dst) {
  start<T, false>(stream, norm, nullptr, src, dst);
}

template <typename T>
void local_response_norm_grad(cudaStream_t stream, const ResponseNorm& norm, const T* d_dst, const T* src,
                              T* d_src) {
  start<T, true>(stream, norm, d_dst, src, d_src);
}

template void local_response_norm(cudaStream_t, const ResponseNorm&, const float*, float*);
template void local_response_norm(cudaStream_t, const ResponseNorm&, const bf16*, bf16*);
template void local_response_norm_grad(cudaStream_t, const ResponseNorm&, const float*, const float*, float*);
template void local_response_norm_grad(cudaStream_t, const ResponseNorm&, const bf16*, const bf16*, bf16*);

namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_squares(const __grid_constant__ Chunks<PenaltyTensor> chunks, float factor, float* parts,
                std::uint32_t* counter, T* penalty) {
  __shared__ float scratch[32];
  float sum = 0;
  for_each_chunk(chunks, [&](const PenaltyTensor& tensor, std::int64_t first) {
    float quads[kQuads][4];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const std::int64_t at = first + q * kThreads * 4;
      if (tensor.is_bf16)
        load_quad(static_cast<const bf16*>(tensor.weight), at, tensor.elements, quads[q]);
      else
        load_quad(static_cast<const float*>(tensor.weight), at, tensor.elements, quads[q]);
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q)
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += quads[q][i] * quads[q][i];
  });
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
  if (!is_last_block(counter)) return;
  const float all = sum_in_order(parts, gridDim.x);
  if (threadIdx.x == 0) *penalty = from_float<T>(factor * all);
}

}  // namespace

template <typename T>
void l2_penalty(cudaStream_t stream, const Chunks<PenaltyTensor>& chunks, float factor, float* parts,
                std::uint32_t* counter, T* penalty) {
  const int blocks = std::max(1, std::min(grid_for(chunks), kMaxPenaltyParts));
  sum_squares<<<blocks, kThreads, 0, stream>>>(chunks, factor, parts, counter, penalty);
  check_launch("l2_penalty");
}

template void l2_penalty(cudaStream_t, const Chunks<PenaltyTensor>&, float, float*, std::uint32_t*, float*);
template void l2_penalty(cudaStream_t, const Chunks<PenaltyTensor>&, float, float*, std::uint32_t*, bf16*);

}  // namespace trainyard::backend::cuda::device
