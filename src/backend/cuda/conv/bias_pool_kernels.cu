#include "backend/cuda/conv/conv2d_kernels.h"

#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/pool/pool.cuh"

namespace trainyard::backend::cuda::device {
namespace {

template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    pool_windows(Pool pool, PoolPlaces places, Activation activation, const float* __restrict__ bias,
                 const T* __restrict__ src, T* dst, std::uint8_t* choice) {
  for (auto i = static_cast<std::uint32_t>(thread_index()); i < places.count();
       i += static_cast<std::uint32_t>(thread_count())) {
    const PoolPlace at = places[i];
    const int top = at.row * pool.stride_h - pool.pad_top, left = at.column * pool.stride_w - pool.pad_left;
    float added[kWidth];
#pragma unroll
    for (int c = 0; c < kWidth; ++c) added[c] = bias == nullptr ? 0.0f : bias[at.channel + c];
    Vector<T, kWidth> best;
    Vector<std::uint8_t, kWidth> from;
    bool found = false;
    for (int ky = 0; ky < pool.kernel_h; ++ky) {
      const int y = top + ky * pool.dilation_h;
      if (y < 0 || y >= pool.src_h) continue;
      for (int kx = 0; kx < pool.kernel_w; ++kx) {
        const int x = left + kx * pool.dilation_w;
        if (x < 0 || x >= pool.src_w) continue;
        const auto taken =
            load_channels<kWidth>(src + at.offset(pool.src_h, pool.src_w, y, x, pool.channels));
        // Padding never wins, the first of equals does; compared as they are stored.
#pragma unroll
        for (int c = 0; c < kWidth; ++c) {
          const T made = from_float<T>(activate(activation, to_float(taken.at[c]) + added[c]));
          if (!found || to_float(made) > to_float(best.at[c])) {
            best.at[c] = made;
            from.at[c] = static_cast<std::uint8_t>(ky * pool.kernel_w + kx);
          }
        }
        found = true;
      }
    }
    const std::int64_t to = at.offset(pool.dst_h, pool.dst_w, at.row, at.column, pool.channels);
    store_channels<kWidth>(dst + to, best);
    store_channels<kWidth>(choice + to, from);
  }
}

}  // namespace

template <typename T>
void bias_activation_pool(cudaStream_t stream, const Pool& pool, Activation activation, const float* bias,
                          const T* src, T* dst, std::uint8_t* choice) {
  with_channel_width<T>(pool.channels, [&]<int kWidth>() {
    const PoolPlaces places(pool, pool.dst_h, pool.dst_w, kWidth);
    if (places.count() == 0) return;
    pool_windows<T, kWidth>
        <<<grid_for(places.count()), kThreads, 0, stream>>>(pool, places, activation, bias, src, dst, choice);
  });
  check_launch("bias_activation_pool");
}

template void bias_activation_pool(cudaStream_t, const Pool&, Activation, const float*, const float*, float*,
                                   std::uint8_t*);
template void bias_activation_pool(cudaStream_t, const Pool&, Activation, const float*, const bf16*, bf16*,
                                   std::uint8_t*);

}  // namespace trainyard::backend::cuda::device
