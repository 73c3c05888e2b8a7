#include "backend/cuda/device/batch_norm.h"

#include "backend/cuda/device/activation.cuh"
#include "backend/cuda/device/row_sums.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// y = scale * x + shift, as the pass behind the statistics wants it.
__device__ void write_factors(const BatchNormScales& scales, std::int64_t channels, float* factors,
                              std::int64_t c) {
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

}  // namespace trainyard::backend::cuda::device
