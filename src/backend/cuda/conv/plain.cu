#include "backend/cuda/conv/conv2d_kernels.h"

#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {
namespace {

using Index = std::int64_t;

// One thread makes one output.
template <typename T>
__global__ void forward(PlainConvolution s, const T* src, const T* weight, const float* bias,
                        Activation activation, T* dst) {
  const Index count = s.batch * s.rows * s.columns * s.outputs;
  for (auto i = static_cast<Index>(thread_index()); i < count; i += static_cast<Index>(thread_count())) {
    const Index o = i % s.outputs, x = i / s.outputs % s.columns, y = i / s.outputs / s.columns % s.rows,
                n = i / s.outputs / s.columns / s.rows, first = o / s.group_outputs * s.depth;
    float sum = 0;
    for (Index ky = 0; ky < s.kernel_h; ++ky)
      for (Index kx = 0; kx < s.kernel_w; ++kx) {
        const Index row = y * s.stride_h - s.pad_top + ky * s.dilation_h;
        const Index column = x * s.stride_w - s.pad_left + kx * s.dilation_w;
        if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
        const T* pixel = src + ((n * s.height + row) * s.width + column) * s.channels + first;
        const T* taps = weight + ((o * s.kernel_h + ky) * s.kernel_w + kx) * s.depth;
        for (Index d = 0; d < s.depth; ++d) sum += to_float(pixel[d]) * to_float(taps[d]);
      }
    dst[i] = from_float<T>(activate(activation, sum + (bias == nullptr ? 0.0f : bias[o])));
  }
}

// One thread a pixel's channel: it gathers from the outputs whose windows cover it.
template <typename T>
__global__ void gather_d_src(PlainConvolution s, const T* d_dst, const T* weight, T* d_src) {
  const Index count = s.batch * s.height * s.width * s.channels,
              weight_stride = s.kernel_h * s.kernel_w * s.depth;
  for (auto i = static_cast<Index>(thread_index()); i < count; i += static_cast<Index>(thread_count())) {
    const Index c = i % s.channels, column = i / s.channels % s.width,
                row = i / s.channels / s.width % s.height, n = i / s.channels / s.width / s.height,
                d = c % s.depth, first = c / s.depth * s.group_outputs;
    float sum = 0;
    for (Index ky = 0; ky < s.kernel_h; ++ky) {
      const Index down = row + s.pad_top - ky * s.dilation_h;
      if (down < 0 || down % s.stride_h != 0 || down / s.stride_h >= s.rows) continue;
      for (Index kx = 0; kx < s.kernel_w; ++kx) {
        const Index right = column + s.pad_left - kx * s.dilation_w;
        if (right < 0 || right % s.stride_w != 0 || right / s.stride_w >= s.columns) continue;
        const T* from =
            d_dst + ((n * s.rows + down / s.stride_h) * s.columns + right / s.stride_w) * s.outputs + first;
        const T* tap = weight + ((first * s.kernel_h + ky) * s.kernel_w + kx) * s.depth + d;
        for (Index o = 0; o < s.group_outputs; ++o)
          sum += to_float(from[o]) * to_float(tap[o * weight_stride]);
      }
    }
    d_src[i] = from_float<T>(sum);
  }
}

// One warp a weight: its lanes share the outputs it was used for.
template <typename T>
__global__ void sum_d_weight(PlainConvolution s, const T* d_dst, const T* src, T* d_weight) {
  const Index count = s.outputs * s.kernel_h * s.kernel_w * s.depth, places = s.batch * s.rows * s.columns;
  const int lane = threadIdx.x % 32;
  for (Index i = static_cast<Index>(thread_index() / 32); i < count;
       i += static_cast<Index>(thread_count() / 32)) {
    const Index d = i % s.depth, kx = i / s.depth % s.kernel_w, ky = i / s.depth / s.kernel_w % s.kernel_h,
                o = i / s.depth / s.kernel_w / s.kernel_h, c = o / s.group_outputs * s.depth + d;
    float sum = 0;
    for (Index place = lane; place < places; place += 32) {
      const Index x = place % s.columns, y = place / s.columns % s.rows, n = place / s.columns / s.rows;
      const Index row = y * s.stride_h - s.pad_top + ky * s.dilation_h;
      const Index column = x * s.stride_w - s.pad_left + kx * s.dilation_w;
      if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
      sum += to_float(d_dst[place * s.outputs + o]) *
             to_float(src[((n * s.height + row) * s.width + column) * s.channels + c]);
    }
    sum = warp_sum(sum);
    if (lane == 0) d_weight[i] = from_float<T>(sum);
  }
}

}  // namespace

template <typename T>
void conv2d_plain(cudaStream_t stream, const PlainConvolution& s, const T* src, const T* weight,
                  const float* bias, Activation activation, T* dst) {
  const int blocks = grid_for(static_cast<std::size_t>(s.batch * s.rows * s.columns * s.outputs));
  forward<<<blocks, kThreads, 0, stream>>>(s, src, weight, bias, activation, dst);
  check_launch("conv2d_plain");
}

template <typename T>
void conv2d_d_src_plain(cudaStream_t stream, const PlainConvolution& s, const T* d_dst, const T* weight,
                        T* d_src) {
  const int blocks = grid_for(static_cast<std::size_t>(s.batch * s.height * s.width * s.channels));
  gather_d_src<<<blocks, kThreads, 0, stream>>>(s, d_dst, weight, d_src);
  check_launch("conv2d_d_src_plain");
}

template <typename T>
void conv2d_d_weight_plain(cudaStream_t stream, const PlainConvolution& s, const T* d_dst, const T* src,
                           T* d_weight) {
  const int blocks = grid_for(static_cast<std::size_t>(s.outputs * s.kernel_h * s.kernel_w * s.depth) * 32);
  sum_d_weight<<<blocks, kThreads, 0, stream>>>(s, d_dst, src, d_weight);
  check_launch("conv2d_d_weight_plain");
}

template void conv2d_plain(cudaStream_t, const PlainConvolution&, const float*, const float*, const float*,
                           Activation, float*);
template void conv2d_plain(cudaStream_t, const PlainConvolution&, const bf16*, const bf16*, const float*,
                           Activation, bf16*);
template void conv2d_d_src_plain(cudaStream_t, const PlainConvolution&, const float*, const float*, float*);
template void conv2d_d_src_plain(cudaStream_t, const PlainConvolution&, const bf16*, const bf16*, bf16*);
template void conv2d_d_weight_plain(cudaStream_t, const PlainConvolution&, const float*, const float*,
                                    float*);
template void conv2d_d_weight_plain(cudaStream_t, const PlainConvolution&, const bf16*, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
