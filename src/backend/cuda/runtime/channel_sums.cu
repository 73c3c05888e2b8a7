#include "backend/cuda/runtime/channel_sums.h"

#include "backend/cuda/runtime/rows.cuh"

namespace trainyard::backend::cuda::device {

namespace {

template <typename T, int kWidth>
struct PlainColumn {
  static constexpr int kAtOnce = 4;
  using Loaded = Vector<T, kWidth>;
  const T* src;
  float sums[kSums][kWidth] = {};

  __device__ explicit PlainColumn(const T* from) : src(from) {}
  __device__ Loaded load(std::int64_t at) const { return *reinterpret_cast<const Loaded*>(src + at); }
  __device__ void take(const Loaded& x, std::int64_t) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sums[0][i] += to_float(x.at[i]);
  }
};

template <typename T, int kWidth>
__global__ void __launch_bounds__(kSumThreads, 1)
    sum_channels(ChannelSums sums, const T* src, float* to, ChannelSumsWorkspace workspace) {
  sum_rows<kWidth>(
      sums, [&](std::int64_t channel) { return PlainColumn<T, kWidth>(src + channel); },
      [&](std::int64_t c, float sum, float) { to[c] = sum; }, workspace);
}

}  // namespace

ChannelSums::ChannelSums(std::int64_t rows_, std::int64_t channels_, std::size_t element_bytes,
                         int multiprocessors_)
    : rows(rows_), channels(channels_), multiprocessors(multiprocessors_) {
  const int widest = static_cast<int>(16 / element_bytes);
  width = channels % widest == 0 ? widest : 1;
  while (lanes < kMostLanes && lanes * width < channels) lanes *= 2;
  const int together = lanes * width;
  channel_blocks = static_cast<int>((channels + together - 1) / together);
  // Each block should have some rows to sum.
  constexpr std::int64_t kLeastRows = 4;  // of a thread
  const std::int64_t wanted = std::max(multiprocessors / channel_blocks, 1);
  const std::int64_t useful = rows * lanes / (kLeastRows * kSumThreads);
  row_blocks = static_cast<int>(std::max<std::int64_t>(std::min(wanted, useful), 1));
}

std::size_t ChannelSums::workspace_bytes() const {
  const auto parts =
      static_cast<std::size_t>(kSums * lanes * width) * static_cast<std::size_t>(row_blocks * channel_blocks);
  return sizeof(float) * (ChannelSumsWorkspace::kFactors * static_cast<std::size_t>(channels) + parts);
}

template <typename T>
void channel_sum_of_many(cudaStream_t stream, const ChannelSums& sums, const T* src, float* to,
                         const ChannelSumsWorkspace& workspace) {
  with_width<T>(sums, [&]<int kWidth>() {
    sum_channels<T, kWidth><<<grid_of(sums), kSumThreads, 0, stream>>>(sums, src, to, workspace);
  });
  check_launch("channel_sum_of_many");
}

template void channel_sum_of_many(cudaStream_t, const ChannelSums&, const float*, float*,
                                  const ChannelSumsWorkspace&);
template void channel_sum_of_many(cudaStream_t, const ChannelSums&, const bf16*, float*,
                                  const ChannelSumsWorkspace&);

}  // namespace trainyard::backend::cuda::device
