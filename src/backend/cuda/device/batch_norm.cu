#include "backend/cuda/device/batch_norm.h"

#include "backend/cuda/device/activation.cuh"
#include "backend/cuda/device/launch.cuh"
#include "backend/cuda/device/row_sums.cuh"

namespace trainyard::backend::cuda::device {

namespace {

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
    const auto take = [&](const Piece<T>& x) {
#pragma unroll
      for (int i = 0; i < kWidth<T>; ++i) {
        const float d = to_float(x.at[i]) - shift[i];
        sum[i] += d;
        squares[i] += d * d;
      }
    };
    for (; row + (kUnroll - 1) * stride < rows; row += kUnroll * stride) {
      Piece<T> pieces[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        pieces[u] = load_piece(src + (row + u * stride) * channels + channel, whole, left);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) take(pieces[u]);
    }
    for (; row < rows; row += stride) take(load_piece(src + row * channels + channel, whole, left));
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

// One piece of what the gradient is made of.
template <typename T>
struct GradientPiece {
  Piece<T> d_dst, src, dst;

  __device__ GradientPiece() {}
  __device__ GradientPiece(const BatchNormGradient<T>& at, std::int64_t index, bool whole, int left)
      : d_dst(load_piece(at.d_dst + index, whole, left)), src(load_piece(at.src + index, whole, left)) {
    if (at.dst != nullptr) dst = load_piece(at.dst + index, whole, left);
  }
  // What passes the ReLU behind the normalisation.
  __device__ float passing(const BatchNormGradient<T>& at, const Affine<kWidth<T>>& mask, int i) const {
    const float g = to_float(d_dst.at[i]);
    if (at.dst != nullptr) return to_float(dst.at[i]) > 0 ? g : 0.0f;
    if (at.beta == nullptr) return g;
    return fmaf(mask.scale[i], to_float(src.at[i]), mask.shift[i]) > 0 ? g : 0.0f;
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
    const Affine<kWidth<T>> mask = mask_of(at, channel, channels);
    float mean[kWidth<T>];
#pragma unroll
    for (int i = 0; i < kWidth<T>; ++i) mean[i] = i < left ? at.mean[channel + i] : 0.0f;
    const auto take = [&](const GradientPiece<T>& piece) {
#pragma unroll
      for (int i = 0; i < kWidth<T>; ++i) {
        const float g = piece.passing(at, mask, i);
        sum[i] += g;
        products[i] = fmaf(g, to_float(piece.src.at[i]) - mean[i], products[i]);
      }
    };
    constexpr int kPieces = 2;  // more would not stay in registers
    for (; row + (kPieces - 1) * stride < rows; row += kPieces * stride) {
      GradientPiece<T> pieces[kPieces];
#pragma unroll
      for (int u = 0; u < kPieces; ++u)
        pieces[u] = GradientPiece<T>(at, (row + u * stride) * channels + channel, whole, left);
#pragma unroll
      for (int u = 0; u < kPieces; ++u) take(pieces[u]);
    }
    for (; row < rows; row += stride) take(GradientPiece<T>(at, row * channels + channel, whole, left));
#pragma unroll
    for (int i = 0; i < kWidth<T>; ++i) products[i] *= i < left ? at.inverse[channel + i] : 0.0f;
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
        const GradientPiece<T> piece(at, index, whole, left);
        float d[kWidth<T>];
#pragma unroll
        for (int i = 0; i < kWidth<T>; ++i)
          d[i] = fmaf(scales.a[i], piece.passing(at, scales.mask, i),
                      fmaf(scales.b[i], to_float(piece.src.at[i]), scales.c[i]));
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
  // One block on every multiprocessor keeps memory busy; a block should have some rows to sum.
  constexpr std::int64_t kLeastRows = 256;
  const std::int64_t wanted = std::max(multiprocessors / channel_blocks, 1);
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
