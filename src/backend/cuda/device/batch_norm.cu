#include "backend/cuda/device/batch_norm.h"

#include "backend/cuda/device/activation.cuh"
#include "backend/cuda/device/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// Threads of a block that sums: kLanes of them stand side by side and take kWidth channels each, the others
// take further rows. Every thread has kUnroll rows in flight.
constexpr int kSumThreads = 256;
constexpr int kUnroll = 4;

template <typename T>
constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
template <typename T>
constexpr int kLanes = ChannelSums::kChannelsPerBlock / kWidth<T>;

template <typename T, int kCount>
__device__ inline void load(const T* from, bool whole, int left, float (&to)[kCount]) {
  if (whole) {
    const auto vector = *reinterpret_cast<const Vector<T, kCount>*>(from);
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = to_float(vector.at[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = i < left ? to_float(from[i]) : 0.0f;
  }
}

// Sums terms.of(row) over all rows of this block, and leaves the sums of the whole tensor to the last block
// of these channels: finish(channel, sum 0, sum 1) is called once for every channel.
template <typename T, typename Terms, typename Finish>
__device__ void sum_rows(const ChannelSums& sums, const Terms& terms, const Finish& finish, float* partials,
                         unsigned* done) {
  constexpr int kW = kWidth<T>, kL = kLanes<T>, kRows = kSumThreads / kL, kC = ChannelSums::kChannelsPerBlock;
  __shared__ float shared[kRows][ChannelSums::kSums][kC];
  __shared__ bool last;
  const int lane = threadIdx.x % kL, row = threadIdx.x / kL;
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.y) * kC + lane * kW;
  float first[kW] = {}, second[kW] = {};
  if (channel < sums.channels)
    terms.add(channel, static_cast<std::int64_t>(blockIdx.x) * kRows + row,
              static_cast<std::int64_t>(gridDim.x) * kRows, first, second);
#pragma unroll
  for (int i = 0; i < kW; ++i) {
    shared[row][0][lane * kW + i] = first[i];
    shared[row][1][lane * kW + i] = second[i];
  }
  __syncthreads();
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.y) * gridDim.x;
  if (threadIdx.x < ChannelSums::kSums * kC) {
    const int which = threadIdx.x / kC, at = threadIdx.x % kC;
    float sum = 0;
    for (int r = 0; r < kRows; ++r) sum += shared[r][which][at];
    partials[((base + blockIdx.x) * ChannelSums::kSums + which) * kC + at] = sum;
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&done[blockIdx.y], 1u) == gridDim.x - 1;
    if (last) done[blockIdx.y] = 0;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  // Two groups of threads, one for every half of the blocks; then both halves together.
  const int which = threadIdx.x / kC % ChannelSums::kSums, at = threadIdx.x % kC,
            half = threadIdx.x / (kC * ChannelSums::kSums);
  constexpr int kHalves = kSumThreads / (kC * ChannelSums::kSums);
  float sum = 0;
#pragma unroll 4
  for (unsigned b = half; b < gridDim.x; b += kHalves)
    sum += __ldcg(&partials[((base + b) * ChannelSums::kSums + which) * kC + at]);
  __syncthreads();
  shared[half][which][at] = sum;
  __syncthreads();
  const std::int64_t mine = static_cast<std::int64_t>(blockIdx.y) * kC + threadIdx.x;
  if (threadIdx.x < kC && mine < sums.channels) {
    float total[2] = {};
    for (int h = 0; h < kHalves; ++h) {
      total[0] += shared[h][0][threadIdx.x];
      total[1] += shared[h][1][threadIdx.x];
    }
    finish(mine, total[0], total[1]);
  }
}

// Sums of src - shift and its square; the shift (the first pixel) keeps the difference of large numbers
// small.
template <typename T>
struct SourceTerms {
  const T* src;
  std::int64_t rows, channels;

  __device__ void add(std::int64_t channel, std::int64_t row, std::int64_t stride, float (&sum)[kWidth<T>],
                      float (&squares)[kWidth<T>]) const {
    const bool whole = channels % kWidth<T> == 0;
    const int left = static_cast<int>(channels - channel);
    float shift[kWidth<T>];
    load(src + channel, whole, left, shift);
    const auto take = [&](const float(&x)[kWidth<T>]) {
#pragma unroll
      for (int i = 0; i < kWidth<T>; ++i) {
        const float d = x[i] - shift[i];
        sum[i] += d;
        squares[i] += d * d;
      }
    };
    for (; row + (kUnroll - 1) * stride < rows; row += kUnroll * stride) {
      float x[kUnroll][kWidth<T>];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        load(src + (row + u * stride) * channels + channel, whole, left, x[u]);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) take(x[u]);
    }
    for (; row < rows; row += stride) {
      float x[kWidth<T>];
      load(src + row * channels + channel, whole, left, x);
      take(x);
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(kSumThreads)
    statistics(ChannelSums sums, const T* src, BatchNormScales scales, float* partials, unsigned* done) {
  const auto finish = [&](std::int64_t c, float sum, float squares) {
    const float count = static_cast<float>(sums.rows), shift = to_float(src[c]);
    const float offset = sum / count;
    const float variance = fmaxf(squares / count - offset * offset, 0.0f), mean = shift + offset;
    scales.mean[c] = mean;
    scales.inverse[c] = rsqrtf(variance + scales.epsilon);
    const float unbiased = count > 1 ? variance * (count / (count - 1)) : variance;
    scales.running_mean[c] += scales.momentum * (mean - scales.running_mean[c]);
    scales.running_variance[c] += scales.momentum * (unbiased - scales.running_variance[c]);
  };
  sum_rows<T>(sums, SourceTerms<T>{src, sums.rows, sums.channels}, finish, partials, done);
}

__global__ void running(std::int64_t channels, const float* mean_in, const float* variance, float epsilon,
                        float* mean, float* inverse) {
  const auto c = static_cast<std::int64_t>(thread_index());
  if (c >= channels) return;
  mean[c] = mean_in[c];
  inverse[c] = rsqrtf(variance[c] + epsilon);
}

// Every thread keeps to its channels, so their scales are read once; the stride over rows does the rest.
// Calls body(index of the first element, channel, how many of kWidth are there).
template <typename T, typename Prepare, typename Body>
__device__ void for_each_vector(std::int64_t rows, std::int64_t channels, const Prepare& prepare,
                                const Body& body) {
  const std::int64_t vectors = (channels + kWidth<T> - 1) / kWidth<T>;
  const auto thread = static_cast<std::int64_t>(thread_index()),
             threads = static_cast<std::int64_t>(thread_count());
  const std::int64_t rows_at_once = threads / vectors;
  if (rows_at_once == 0) {  // more channels than threads
    for (std::int64_t v = thread; v < vectors; v += threads) {
      const auto ready = prepare(v * kWidth<T>);
      for (std::int64_t row = 0; row < rows; ++row)
        body(ready, row * channels + v * kWidth<T>, v * kWidth<T>);
    }
    return;
  }
  if (thread >= rows_at_once * vectors) return;
  const std::int64_t channel = thread % vectors * kWidth<T>;
  const auto ready = prepare(channel);
#pragma unroll 2
  for (std::int64_t row = thread / vectors; row < rows; row += rows_at_once)
    body(ready, row * channels + channel, channel);
}

template <typename T>
__device__ inline void store(T* to, bool whole, int left, const float (&from)[kWidth<T>]) {
  if (whole) {
    Vector<T, kWidth<T>> vector;
#pragma unroll
    for (int i = 0; i < kWidth<T>; ++i) vector.at[i] = from_float<T>(from[i]);
    *reinterpret_cast<Vector<T, kWidth<T>>*>(to) = vector;
  } else {
    for (int i = 0; i < kWidth<T> && i < left; ++i) to[i] = from_float<T>(from[i]);
  }
}

// y = scale * x + shift.
template <int kCount>
struct Affine {
  float scale[kCount], shift[kCount];
};

template <typename T>
__device__ Affine<kWidth<T>> affine_of(const float* gamma, const float* beta, const float* mean,
                                       const float* inverse, std::int64_t channel, std::int64_t channels) {
  Affine<kWidth<T>> made;
#pragma unroll
  for (int i = 0; i < kWidth<T>; ++i) {
    const std::int64_t c = channel + i < channels ? channel + i : channels - 1;
    made.scale[i] = gamma[c] * inverse[c];
    made.shift[i] = beta[c] - mean[c] * made.scale[i];
  }
  return made;
}

template <typename T, bool kResidual>
__global__ void __launch_bounds__(kThreads)
    apply(std::int64_t rows, std::int64_t channels, const T* src, const T* residual, BatchNormScales scales,
          Activation activation, T* dst) {
  const bool whole = channels % kWidth<T> == 0;
  for_each_vector<T>(
      rows, channels,
      [&](std::int64_t channel) {
        return affine_of<T>(scales.gamma, scales.beta, scales.mean, scales.inverse, channel, channels);
      },
      [&](const Affine<kWidth<T>>& map, std::int64_t at, std::int64_t channel) {
        const int left = static_cast<int>(channels - channel);
        float x[kWidth<T>], r[kWidth<T>], y[kWidth<T>];
        load(src + at, whole, left, x);
        if (kResidual) load(residual + at, whole, left, r);
#pragma unroll
        for (int i = 0; i < kWidth<T>; ++i) {
          const float normal = fmaf(map.scale[i], x[i], map.shift[i]);
          y[i] = activate(activation, kResidual ? normal + r[i] : normal);
        }
        store(dst + at, whole, left, y);
      });
}

// The gradient that passes the ReLU behind the normalisation.
template <typename T>
struct Passing {
  const BatchNormGradient<T>& at;
  bool whole;

  __device__ void load_gradient(std::int64_t index, int left, const Affine<kWidth<T>>& map,
                                const float (&x)[kWidth<T>], float (&g)[kWidth<T>]) const {
    load(at.d_dst + index, whole, left, g);
    if (at.dst != nullptr) {
      float y[kWidth<T>];
      load(at.dst + index, whole, left, y);
#pragma unroll
      for (int i = 0; i < kWidth<T>; ++i) g[i] = y[i] > 0 ? g[i] : 0.0f;
    } else if (at.beta != nullptr) {
#pragma unroll
      for (int i = 0; i < kWidth<T>; ++i) g[i] = fmaf(map.scale[i], x[i], map.shift[i]) > 0 ? g[i] : 0.0f;
    }
  }
};

template <typename T>
__device__ Affine<kWidth<T>> mask_of(const BatchNormGradient<T>& at, std::int64_t channel,
                                     std::int64_t channels) {
  if (at.beta == nullptr || at.dst != nullptr) return {};
  return affine_of<T>(at.gamma, at.beta, at.mean, at.inverse, channel, channels);
}

template <typename T>
struct GradientTerms {
  BatchNormGradient<T> at;
  std::int64_t rows, channels;

  __device__ void add(std::int64_t channel, std::int64_t row, std::int64_t stride, float (&sum)[kWidth<T>],
                      float (&products)[kWidth<T>]) const {
    const bool whole = channels % kWidth<T> == 0;
    const int left = static_cast<int>(channels - channel);
    const Affine<kWidth<T>> map = mask_of(at, channel, channels);
    float mean[kWidth<T>], inverse[kWidth<T>];
#pragma unroll
    for (int i = 0; i < kWidth<T>; ++i) {
      mean[i] = i < left ? at.mean[channel + i] : 0.0f;
      inverse[i] = i < left ? at.inverse[channel + i] : 0.0f;
    }
    const Passing<T> passing{at, whole};
#pragma unroll 2
    for (; row < rows; row += stride) {
      const std::int64_t index = row * channels + channel;
      float x[kWidth<T>], g[kWidth<T>];
      load(at.src + index, whole, left, x);
      passing.load_gradient(index, left, map, x, g);
#pragma unroll
      for (int i = 0; i < kWidth<T>; ++i) {
        sum[i] += g[i];
        products[i] += g[i] * (x[i] - mean[i]) * inverse[i];
      }
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(kSumThreads)
    gradient_sums(ChannelSums sums, BatchNormGradient<T> at, float* d_gamma, float* d_beta, float* partials,
                  unsigned* done) {
  const auto finish = [&](std::int64_t c, float sum, float products) {
    d_beta[c] = sum;
    d_gamma[c] = products;
  };
  sum_rows<T>(sums, GradientTerms<T>{at, sums.rows, sums.channels}, finish, partials, done);
}

// d_src = a * g + b * x + c.
template <int kCount>
struct GradientScales {
  Affine<kCount> mask;
  float a[kCount], b[kCount], c[kCount];
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    gradient_apply(std::int64_t rows, std::int64_t channels, BatchNormGradient<T> at, const float* d_gamma,
                   const float* d_beta, T* d_src) {
  const bool whole = channels % kWidth<T> == 0;
  const float count = static_cast<float>(rows);
  const Passing<T> passing{at, whole};
  for_each_vector<T>(
      rows, channels,
      [&](std::int64_t channel) {
        GradientScales<kWidth<T>> made;
        made.mask = mask_of(at, channel, channels);
#pragma unroll
        for (int i = 0; i < kWidth<T>; ++i) {
          const std::int64_t c = channel + i < channels ? channel + i : channels - 1;
          const float scale = at.gamma[c] * at.inverse[c], slope = at.inverse[c] * d_gamma[c] / count;
          made.a[i] = scale;
          made.b[i] = -scale * slope;
          made.c[i] = scale * (at.mean[c] * slope - d_beta[c] / count);
        }
        return made;
      },
      [&](const GradientScales<kWidth<T>>& scales, std::int64_t index, std::int64_t channel) {
        const int left = static_cast<int>(channels - channel);
        float x[kWidth<T>], g[kWidth<T>], d[kWidth<T>];
        load(at.src + index, whole, left, x);
        passing.load_gradient(index, left, scales.mask, x, g);
#pragma unroll
        for (int i = 0; i < kWidth<T>; ++i)
          d[i] = fmaf(scales.a[i], g[i], fmaf(scales.b[i], x[i], scales.c[i]));
        store(d_src + index, whole, left, d);
      });
}

dim3 grid_of(const ChannelSums& sums) {
  return {static_cast<unsigned>(sums.row_blocks), static_cast<unsigned>(sums.channel_blocks)};
}

template <typename T>
int apply_blocks(std::int64_t rows, std::int64_t channels) {
  return grid_for(static_cast<std::size_t>(rows * ((channels + kWidth<T> - 1) / kWidth<T>)));
}

}  // namespace

ChannelSums::ChannelSums(std::int64_t rows_, std::int64_t channels_, int multiprocessors)
    : rows(rows_), channels(channels_) {
  channel_blocks = static_cast<int>((channels + kChannelsPerBlock - 1) / kChannelsPerBlock);
  // Four blocks on every multiprocessor keep memory busy; a block should have some rows to sum.
  constexpr std::int64_t kLeastRows = 128;
  const std::int64_t wanted = std::max(4 * multiprocessors / channel_blocks, 1);
  row_blocks = static_cast<int>(std::max<std::int64_t>(std::min(wanted, rows / kLeastRows), 1));
}

std::size_t ChannelSums::workspace_bytes() const {
  return sizeof(float) * kSums * kChannelsPerBlock * static_cast<std::size_t>(row_blocks * channel_blocks);
}

template <typename T>
void batch_norm_statistics(cudaStream_t stream, const ChannelSums& sums, const T* src,
                           const BatchNormScales& scales, float* partials, unsigned* done) {
  statistics<<<grid_of(sums), kSumThreads, 0, stream>>>(sums, src, scales, partials, done);
  check_launch("batch_norm_statistics");
}

void batch_norm_running(cudaStream_t stream, std::int64_t channels, const float* running_mean,
                        const float* running_variance, float epsilon, float* mean, float* inverse) {
  running<<<grid_for(static_cast<std::size_t>(channels)), kThreads, 0, stream>>>(
      channels, running_mean, running_variance, epsilon, mean, inverse);
  check_launch("batch_norm_running");
}

template <typename T>
void batch_norm_apply(cudaStream_t stream, std::int64_t rows, std::int64_t channels, const T* src,
                      const T* residual, const BatchNormScales& scales, Activation activation, T* dst) {
  const int blocks = apply_blocks<T>(rows, channels);
  if (residual != nullptr)
    apply<T, true><<<blocks, kThreads, 0, stream>>>(rows, channels, src, residual, scales, activation, dst);
  else
    apply<T, false><<<blocks, kThreads, 0, stream>>>(rows, channels, src, residual, scales, activation, dst);
  check_launch("batch_norm_apply");
}

template <typename T>
void batch_norm_gradient_sums(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                              float* d_gamma, float* d_beta, float* partials, unsigned* done) {
  gradient_sums<<<grid_of(sums), kSumThreads, 0, stream>>>(sums, at, d_gamma, d_beta, partials, done);
  check_launch("batch_norm_gradient_sums");
}

template <typename T>
void batch_norm_gradient_apply(cudaStream_t stream, std::int64_t rows, std::int64_t channels,
                               const BatchNormGradient<T>& at, const float* d_gamma, const float* d_beta,
                               T* d_src) {
  gradient_apply<<<apply_blocks<T>(rows, channels), kThreads, 0, stream>>>(rows, channels, at, d_gamma,
                                                                           d_beta, d_src);
  check_launch("batch_norm_gradient_apply");
}

#define TRAINYARD_INSTANTIATE(T)                                                                          \
  template void batch_norm_statistics(cudaStream_t, const ChannelSums&, const T*, const BatchNormScales&, \
                                      float*, unsigned*);                                                 \
  template void batch_norm_apply(cudaStream_t, std::int64_t, std::int64_t, const T*, const T*,            \
                                 const BatchNormScales&, Activation, T*);                                 \
  template void batch_norm_gradient_sums(cudaStream_t, const ChannelSums&, const BatchNormGradient<T>&,   \
                                         float*, float*, float*, unsigned*);                              \
  template void batch_norm_gradient_apply(cudaStream_t, std::int64_t, std::int64_t,                       \
                                          const BatchNormGradient<T>&, const float*, const float*, T*)
TRAINYARD_INSTANTIATE(float);
TRAINYARD_INSTANTIATE(bf16);
#undef TRAINYARD_INSTANTIATE

}  // namespace trainyard::backend::cuda::device
