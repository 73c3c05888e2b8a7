#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/norm/norm_kernels.h"
#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// y = scale * x + shift, as the pass behind the statistics wants it.
template <typename Scales>
__device__ void write_factors(const Scales& scales, std::int64_t channels, float* factors, std::int64_t c) {
  const float scale = scales.gamma[c] * scales.inverse[c];
  factors[c] = scale;
  factors[channels + c] = scales.beta[c] - scales.mean[c] * scale;
}

// Sums of src - shift and its square; the shift (the first pixel) keeps the difference of large numbers
// small.
template <typename T, int kWidth>
struct StatisticsColumn {
  static constexpr int kAtOnce = 4;
  using Loaded = Vector<T, kWidth>;
  const T* src;
  float shift[kWidth], sums[kSums][kWidth] = {};

  __device__ StatisticsColumn(const T* from, std::int64_t channel) : src(from + channel) {
    const Loaded first = load(0);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) shift[i] = to_float(first.at[i]);
  }
  __device__ Loaded load(std::int64_t at) const { return *reinterpret_cast<const Loaded*>(src + at); }
  __device__ void take(const Loaded& x, std::int64_t) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float d = to_float(x.at[i]) - shift[i];
      sums[0][i] += d;
      sums[1][i] = fmaf(d, d, sums[1][i]);
    }
  }
};

template <typename T, int kWidth>
__global__ void __launch_bounds__(kSumThreads, 1)
    statistics(ChannelSums sums, const T* src, BatchNormScales scales, ChannelSumsWorkspace workspace) {
  const auto finish = [&](std::int64_t c, float sum, float squares) {
    const float count = static_cast<float>(sums.rows), shift = to_float(src[c]);
    const float offset = sum / count;
    const float variance = fmaxf(squares / count - offset * offset, 0.0f), mean = shift + offset;
    scales.mean[c] = mean;
    scales.inverse[c] = rsqrtf(variance + scales.epsilon);
    const float unbiased = count > 1 ? variance * (count / (count - 1)) : variance;
    scales.running_mean[c] += scales.momentum * (mean - scales.running_mean[c]);
    scales.running_variance[c] += scales.momentum * (unbiased - scales.running_variance[c]);
    write_factors(scales, sums.channels, workspace.factors, c);
  };
  sum_rows<kWidth>(
      sums, [&](std::int64_t channel) { return StatisticsColumn<T, kWidth>(src, channel); }, finish,
      workspace);
}

__global__ void running(std::int64_t channels, BatchNormScales scales, float* factors) {
  const auto c = static_cast<std::int64_t>(thread_index());
  if (c >= channels) return;
  scales.mean[c] = scales.running_mean[c];
  scales.inverse[c] = rsqrtf(scales.running_variance[c] + scales.epsilon);
  write_factors(scales, channels, factors, c);
}

__global__ void given(std::int64_t channels, BatchNormGiven scales, float* factors) {
  const auto c = static_cast<std::int64_t>(thread_index());
  if (c < channels) write_factors(scales, channels, factors, c);
}

enum class Behind { nothing, relu, other };  // relu without a look at the activation in every element

template <typename T, int kWidth, bool kResidual, Behind kBehind>
struct ApplyColumn {
  static constexpr int kAtOnce = kResidual ? 2 : 4;
  struct Loaded {
    Vector<T, kWidth> x, residual;
  };
  const T *src, *residual;
  T* dst;
  Activation activation;
  float scale[kWidth], shift[kWidth];

  __device__ Loaded load(std::int64_t at) const {
    Loaded loaded;
    loaded.x = *reinterpret_cast<const Vector<T, kWidth>*>(src + at);
    if (kResidual) loaded.residual = *reinterpret_cast<const Vector<T, kWidth>*>(residual + at);
    return loaded;
  }
  __device__ void take(const Loaded& loaded, std::int64_t at) const {
    Vector<T, kWidth> y;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      float normal = fmaf(scale[i], to_float(loaded.x.at[i]), shift[i]);
      if (kResidual) normal += to_float(loaded.residual.at[i]);
      if (kBehind == Behind::relu) normal = normal < 0 ? 0.0f : normal;  // NaN stays NaN
      if (kBehind == Behind::other) normal = activate(activation, normal);
      y.at[i] = from_float<T>(normal);
    }
    *reinterpret_cast<Vector<T, kWidth>*>(dst + at) = y;
  }
};

template <typename T, int kWidth, bool kResidual, Behind kBehind>
__global__ void __launch_bounds__(kThreads, kPassBlocks)
    apply(std::int64_t rows, std::int64_t channels, const T* src, const T* residual, const float* factors,
          Activation activation, T* dst) {
  for_columns<kWidth>(rows, channels, [&](std::int64_t channel) {
    ApplyColumn<T, kWidth, kResidual, kBehind> column{
        src + channel, kResidual ? residual + channel : nullptr, dst + channel, activation, {}, {}};
    load_floats(factors + channel, column.scale);
    load_floats(factors + channels + channel, column.shift);
    return column;
  });
}

template <typename T, int kWidth, bool kResidual>
void start_apply(cudaStream_t stream, const ChannelSums& sums, const T* src, const T* residual,
                 const float* factors, Activation activation, T* dst) {
  const int blocks = pass_blocks(sums);
  const auto start = [&](auto* kernel) {
    kernel<<<blocks, kThreads, 0, stream>>>(sums.rows, sums.channels, src, residual, factors, activation,
                                            dst);
  };
  if (activation.kind == ops::Activation::none)
    start(apply<T, kWidth, kResidual, Behind::nothing>);
  else if (activation.kind == ops::Activation::relu)
    start(apply<T, kWidth, kResidual, Behind::relu>);
  else
    start(apply<T, kWidth, kResidual, Behind::other>);
}

}  // namespace

template <typename T>
void batch_norm_statistics(cudaStream_t stream, const ChannelSums& sums, const T* src,
                           const BatchNormScales& scales, const ChannelSumsWorkspace& workspace) {
  with_width<T>(sums, [&]<int kWidth>() {
    statistics<T, kWidth><<<grid_of(sums), kSumThreads, 0, stream>>>(sums, src, scales, workspace);
  });
  check_launch("batch_norm_statistics");
}

void batch_norm_running(cudaStream_t stream, const ChannelSums& sums, const BatchNormScales& scales,
                        const ChannelSumsWorkspace& workspace) {
  running<<<grid_for(static_cast<std::size_t>(sums.channels)), kThreads, 0, stream>>>(sums.channels, scales,
                                                                                      workspace.factors);
  check_launch("batch_norm_running");
}

void batch_norm_given(cudaStream_t stream, const ChannelSums& sums, const BatchNormGiven& scales,
                      const ChannelSumsWorkspace& workspace) {
  given<<<grid_for(static_cast<std::size_t>(sums.channels)), kThreads, 0, stream>>>(sums.channels, scales,
                                                                                    workspace.factors);
  check_launch("batch_norm_given");
}

template <typename T>
void batch_norm_apply(cudaStream_t stream, const ChannelSums& sums, const T* src, const T* residual,
                      const ChannelSumsWorkspace& workspace, Activation activation, T* dst) {
  with_width<T>(sums, [&]<int kWidth>() {
    if (residual != nullptr)
      start_apply<T, kWidth, true>(stream, sums, src, residual, workspace.factors, activation, dst);
    else
      start_apply<T, kWidth, false>(stream, sums, src, residual, workspace.factors, activation, dst);
  });
  check_launch("batch_norm_apply");
}

#define TRAINYARD_INSTANTIATE(T)                                                                          \
  template void batch_norm_statistics(cudaStream_t, const ChannelSums&, const T*, const BatchNormScales&, \
                                      const ChannelSumsWorkspace&);                                       \
  template void batch_norm_apply(cudaStream_t, const ChannelSums&, const T*, const T*,                    \
                                 const ChannelSumsWorkspace&, Activation, T*)
TRAINYARD_INSTANTIATE(float);
TRAINYARD_INSTANTIATE(bf16);
#undef TRAINYARD_INSTANTIATE

namespace {

enum class Mask { none, by_dst, by_beta };  // where the gradient passes: see BatchNormGradient

template <typename T, int kWidth>
struct GradientPiece {
  Vector<T, kWidth> d_dst, src, dst;
};

// Gives the part of the gradient that passes the ReLU behind the normalisation.
template <typename T, int kWidth, Mask kMask>
struct Gate {
  const T *d_dst, *src, *dst;
  float scale[kWidth], shift[kWidth];

  __device__ Gate(const BatchNormGradient<T>& at, std::int64_t channel)
      : d_dst(at.d_dst + channel), src(at.src + channel), dst(at.dst + channel) {
    if constexpr (kMask == Mask::by_beta) {
      float inverse[kWidth], mean[kWidth];
      load_floats(at.gamma + channel, scale);
      load_floats(at.beta + channel, shift);
      load_floats(at.inverse + channel, inverse);
      load_floats(at.mean + channel, mean);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {  // as the forward pass has it, to the last bit
        scale[i] *= inverse[i];
        shift[i] -= mean[i] * scale[i];
      }
    }
  }
  __device__ GradientPiece<T, kWidth> load(std::int64_t at) const {
    GradientPiece<T, kWidth> piece;
    piece.d_dst = *reinterpret_cast<const Vector<T, kWidth>*>(d_dst + at);
    piece.src = *reinterpret_cast<const Vector<T, kWidth>*>(src + at);
    if (kMask == Mask::by_dst) piece.dst = *reinterpret_cast<const Vector<T, kWidth>*>(dst + at);
    return piece;
  }
  __device__ float passing(const GradientPiece<T, kWidth>& piece, int i, float x) const {
    const float g = to_float(piece.d_dst.at[i]);
    if (kMask == Mask::by_dst) return to_float(piece.dst.at[i]) > 0 ? g : 0.0f;
    if (kMask == Mask::by_beta) return fmaf(scale[i], x, shift[i]) > 0 ? g : 0.0f;
    return g;
  }
};

template <typename T, int kWidth, Mask kMask>
struct SumColumn {
  static constexpr int kAtOnce = 2;  // more would not stay in registers
  using Loaded = GradientPiece<T, kWidth>;
  Gate<T, kWidth, kMask> gate;
  float mean[kWidth], sums[kSums][kWidth] = {};

  __device__ SumColumn(const BatchNormGradient<T>& at, std::int64_t channel) : gate(at, channel) {
    load_floats(at.mean + channel, mean);
  }
  __device__ Loaded load(std::int64_t at) const { return gate.load(at); }
  __device__ void take(const Loaded& piece, std::int64_t) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float x = to_float(piece.src.at[i]), g = gate.passing(piece, i, x);
      sums[0][i] += g;
      sums[1][i] = fmaf(g, x - mean[i], sums[1][i]);
    }
  }
};

template <typename T, int kWidth, Mask kMask>
__global__ void __launch_bounds__(kSumThreads, 1)
    gradient_sums(ChannelSums sums, BatchNormGradient<T> at, float* d_gamma, float* d_beta,
                  ChannelSumsWorkspace workspace) {
  const auto finish = [&](std::int64_t c, float sum, float products) {
    const float inverse = at.inverse[c], slope_sum = products * inverse;
    d_beta[c] = sum;
    d_gamma[c] = slope_sum;
    // d_src = a * g + b * x + c
    const float count = static_cast<float>(sums.rows), scale = at.gamma[c] * inverse;
    const float slope = inverse * slope_sum / count;
    workspace.factors[c] = scale;
    workspace.factors[sums.channels + c] = -scale * slope;
    workspace.factors[2 * sums.channels + c] = scale * (at.mean[c] * slope - sum / count);
  };
  sum_rows<kWidth>(
      sums, [&](std::int64_t channel) { return SumColumn<T, kWidth, kMask>(at, channel); }, finish,
      workspace);
}

template <typename T, int kWidth, Mask kMask>
struct ApplyGradColumn {
  static constexpr int kAtOnce = 2;
  using Loaded = GradientPiece<T, kWidth>;
  Gate<T, kWidth, kMask> gate;
  T* d_src;
  float a[kWidth], b[kWidth], c[kWidth];

  __device__ Loaded load(std::int64_t at) const { return gate.load(at); }
  __device__ void take(const Loaded& piece, std::int64_t at) const {
    Vector<T, kWidth> d;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float x = to_float(piece.src.at[i]);
      d.at[i] = from_float<T>(fmaf(a[i], gate.passing(piece, i, x), fmaf(b[i], x, c[i])));
    }
    *reinterpret_cast<Vector<T, kWidth>*>(d_src + at) = d;
  }
};

template <typename T, int kWidth, Mask kMask>
__global__ void __launch_bounds__(kThreads, kPassBlocks)
    gradient_apply(std::int64_t rows, std::int64_t channels, BatchNormGradient<T> at, const float* factors,
                   T* d_src) {
  for_columns<kWidth>(rows, channels, [&](std::int64_t channel) {
    ApplyGradColumn<T, kWidth, kMask> column{{at, channel}, d_src + channel, {}, {}, {}};
    load_floats(factors + channel, column.a);
    load_floats(factors + channels + channel, column.b);
    load_floats(factors + 2 * channels + channel, column.c);
    return column;
  });
}

// Calls start.operator()<kWidth, kMask>().
template <typename T, typename Start>
void with_mask(const ChannelSums& sums, const BatchNormGradient<T>& at, const Start& start) {
  with_width<T>(sums, [&]<int kWidth>() {
    if (at.dst != nullptr)
      start.template operator()<kWidth, Mask::by_dst>();
    else if (at.beta != nullptr)
      start.template operator()<kWidth, Mask::by_beta>();
    else
      start.template operator()<kWidth, Mask::none>();
  });
}

}  // namespace

template <typename T>
void batch_norm_gradient_sums(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                              float* d_gamma, float* d_beta, const ChannelSumsWorkspace& workspace) {
  with_mask(sums, at, [&]<int kWidth, Mask kMask>() {
    gradient_sums<T, kWidth, kMask>
        <<<grid_of(sums), kSumThreads, 0, stream>>>(sums, at, d_gamma, d_beta, workspace);
  });
  check_launch("batch_norm_gradient_sums");
}

template <typename T>
void batch_norm_gradient_apply(cudaStream_t stream, const ChannelSums& sums, const BatchNormGradient<T>& at,
                               const ChannelSumsWorkspace& workspace, T* d_src) {
  with_mask(sums, at, [&]<int kWidth, Mask kMask>() {
    gradient_apply<T, kWidth, kMask>
        <<<pass_blocks(sums), kThreads, 0, stream>>>(sums.rows, sums.channels, at, workspace.factors, d_src);
  });
  check_launch("batch_norm_gradient_apply");
}

#define TRAINYARD_INSTANTIATE(T)                                                                         \
  template void batch_norm_gradient_sums(cudaStream_t, const ChannelSums&, const BatchNormGradient<T>&,  \
                                         float*, float*, const ChannelSumsWorkspace&);                   \
  template void batch_norm_gradient_apply(cudaStream_t, const ChannelSums&, const BatchNormGradient<T>&, \
                                          const ChannelSumsWorkspace&, T*)
TRAINYARD_INSTANTIATE(float);
TRAINYARD_INSTANTIATE(bf16);
#undef TRAINYARD_INSTANTIATE

}  // namespace trainyard::backend::cuda::device
