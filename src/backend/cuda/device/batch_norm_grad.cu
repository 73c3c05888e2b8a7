#include "backend/cuda/device/batch_norm.h"

#include "backend/cuda/device/row_sums.cuh"

namespace trainyard::backend::cuda::device {

namespace {

enum class Mask { none, by_dst, by_beta };  // where the gradient passes: see BatchNormGradient

template <typename T, int kWidth>
struct GradientPiece {
  Vector<T, kWidth> d_dst, src, dst;
};

// What passes the ReLU behind the normalisation.
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
