#include "backend/cuda/dense/dense_kernels.h"
#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/runtime/launch.cuh"

namespace trainyard::backend::cuda::device {

namespace {

constexpr int kNarrowThreads = 128, kNarrowWarps = kNarrowThreads / 32;

// One block a row: its threads share the inputs. `width`: vectors in a row.
template <typename T, int kWidth, int kOutputs>
__global__ void __launch_bounds__(kNarrowThreads)
    dot_rows(const Vector<T, kWidth>* __restrict__ src, const Vector<T, kWidth>* __restrict__ weight,
             const float* bias, Activation activation, std::int64_t width, int outputs, T* dst) {
  __shared__ float partial[kNarrowWarps][kOutputs];
  const std::int64_t row = blockIdx.x;
  float sums[kOutputs] = {};
  for (std::int64_t v = threadIdx.x; v < width; v += kNarrowThreads) {
    const Vector<T, kWidth> x = src[row * width + v];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      if (o >= outputs) break;
      const Vector<T, kWidth> w = weight[o * width + v];
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sums[o] += to_float(x.at[i]) * to_float(w.at[i]);
    }
  }
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    const float sum = warp_sum(sums[o]);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32][o] = sum;
  }
  __syncthreads();
  const int o = threadIdx.x;
  if (o >= outputs) return;
  float sum = bias == nullptr ? 0.0f : bias[o];
  for (int warp = 0; warp < kNarrowWarps; ++warp) sum += partial[warp][o];
  dst[row * outputs + o] = from_float<T>(activate(activation, sum));
}

// One thread makes one vector of d_src.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kNarrowThreads)
    spread_rows(const T* __restrict__ d_dst, const Vector<T, kWidth>* __restrict__ weight, std::int64_t batch,
                std::int64_t width, int outputs, Vector<T, kWidth>* d_src) {
  const std::int64_t v = static_cast<std::int64_t>(blockIdx.x) * kNarrowThreads + threadIdx.x;
  if (v >= width) return;
  for (std::int64_t row = blockIdx.y; row < batch; row += gridDim.y) {
    float sums[kWidth] = {};
#pragma unroll 8
    for (int o = 0; o < outputs; ++o) {
      const float gradient = to_float(d_dst[row * outputs + o]);
      const Vector<T, kWidth> w = weight[o * width + v];
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sums[i] += gradient * to_float(w.at[i]);
    }
    Vector<T, kWidth> made;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) made.at[i] = from_float<T>(sums[i]);
    d_src[row * width + v] = made;
  }
}

constexpr int kColumnWarps = 8;

// One block 32 inputs, a lane each; its warps share the batch. A last block, where there is a bias, has 1 as
// its only input.
template <typename T, int kOutputs>
__global__ void __launch_bounds__(32 * kColumnWarps)
    sum_columns(const T* __restrict__ d_dst, const T* __restrict__ src, NarrowDense sizes, T* d_weight,
                float* d_bias) {
  __shared__ float partial[kColumnWarps][kOutputs][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::int64_t input = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  const bool bias = d_bias != nullptr && blockIdx.x + 1 == gridDim.x;
  const bool reads = !bias && input < sizes.inputs;
  float sums[kOutputs] = {};
#pragma unroll 4
  for (std::int64_t n = warp; n < sizes.batch; n += kColumnWarps) {
    const float x = reads ? to_float(src[n * sizes.inputs + input]) : 1.0f;
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      if (o >= sizes.outputs) break;
      sums[o] += x * to_float(d_dst[n * sizes.outputs + o]);
    }
  }
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) partial[warp][o][lane] = sums[o];
  __syncthreads();
  for (int o = warp; o < sizes.outputs; o += kColumnWarps) {
    float sum = 0;
    for (int w = 0; w < kColumnWarps; ++w) sum += partial[w][o][lane];
    if (reads) d_weight[o * sizes.inputs + input] = from_float<T>(sum);
    if (bias && lane == 0) d_bias[o] = sum;
  }
}

// Calls start.operator()<kWidth>(): inputs in vectors of 16 bytes, or one by one.
template <typename T, typename Start>
void with_input_width(const NarrowDense& sizes, const Start& start) {
  constexpr int kFull = 16 / sizeof(T);
  if (sizes.inputs % kFull == 0)
    start.template operator()<kFull>();
  else
    start.template operator()<1>();
}

// Calls start.operator()<kOutputs>() with room for all outputs.
template <typename Start>
void with_output_room(const NarrowDense& sizes, const Start& start) {
  if (sizes.outputs <= 16)
    start.template operator()<16>();
  else
    start.template operator()<NarrowDense::kMostOutputs>();
}

}  // namespace

template <typename T>
void dense_narrow(cudaStream_t stream, const NarrowDense& sizes, const T* src, const T* weight,
                  const float* bias, Activation activation, T* dst) {
  with_input_width<T>(sizes, [&]<int kWidth>() {
    with_output_room(sizes, [&]<int kOutputs>() {
      dot_rows<T, kWidth, kOutputs><<<static_cast<unsigned>(sizes.batch), kNarrowThreads, 0, stream>>>(
          reinterpret_cast<const Vector<T, kWidth>*>(src), reinterpret_cast<const Vector<T, kWidth>*>(weight),
          bias, activation, sizes.inputs / kWidth, sizes.outputs, dst);
    });
  });
  check_launch("dense_narrow");
}

template <typename T>
void dense_d_src_narrow(cudaStream_t stream, const NarrowDense& sizes, const T* d_dst, const T* weight,
                        T* d_src) {
  with_input_width<T>(sizes, [&]<int kWidth>() {
    const std::int64_t width = sizes.inputs / kWidth;
    const dim3 grid(static_cast<unsigned>((width + kNarrowThreads - 1) / kNarrowThreads),
                    static_cast<unsigned>(std::min<std::int64_t>(sizes.batch, 1024)));
    spread_rows<T, kWidth><<<grid, kNarrowThreads, 0, stream>>>(
        d_dst, reinterpret_cast<const Vector<T, kWidth>*>(weight), sizes.batch, width, sizes.outputs,
        reinterpret_cast<Vector<T, kWidth>*>(d_src));
  });
  check_launch("dense_d_src_narrow");
}

template <typename T>
void dense_d_weight_narrow(cudaStream_t stream, const NarrowDense& sizes, const T* d_dst, const T* src,
                           T* d_weight, float* d_bias) {
  const auto blocks = static_cast<unsigned>((sizes.inputs + 31) / 32 + (d_bias == nullptr ? 0 : 1));
  with_output_room(sizes, [&]<int kOutputs>() {
    sum_columns<T, kOutputs><<<blocks, 32 * kColumnWarps, 0, stream>>>(d_dst, src, sizes, d_weight, d_bias);
  });
  check_launch("dense_d_weight_narrow");
}

template void dense_narrow(cudaStream_t, const NarrowDense&, const float*, const float*, const float*,
                           Activation, float*);
template void dense_narrow(cudaStream_t, const NarrowDense&, const bf16*, const bf16*, const float*,
                           Activation, bf16*);
template void dense_d_src_narrow(cudaStream_t, const NarrowDense&, const float*, const float*, float*);
template void dense_d_src_narrow(cudaStream_t, const NarrowDense&, const bf16*, const bf16*, bf16*);
template void dense_d_weight_narrow(cudaStream_t, const NarrowDense&, const float*, const float*, float*,
                                    float*);
template void dense_d_weight_narrow(cudaStream_t, const NarrowDense&, const bf16*, const bf16*, bf16*,
                                    float*);

namespace {

template <typename T>
__global__ void multiply(PlainProduct p, const T* a, const T* b, T* dst) {
  const std::int64_t of_matrix = p.m * p.n;
  for (auto i = static_cast<std::int64_t>(thread_index()); i < p.batch * of_matrix;
       i += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t matrix = i / of_matrix, at = i - matrix * of_matrix;
    const T* row = a + matrix * p.m * p.k + at / p.n * p.a_row;
    const T* column = b + matrix * p.k * p.n + at % p.n * p.b_column;
    float sum = 0;
    for (std::int64_t k = 0; k < p.k; ++k)
      sum += to_float(row[k * p.a_inner]) * to_float(column[k * p.b_inner]);
    dst[i] = from_float<T>(sum);
  }
}

}  // namespace

template <typename T>
void plain_product(cudaStream_t stream, const PlainProduct& product, const T* a, const T* b, T* dst) {
  const std::int64_t elements = product.batch * product.m * product.n;
  if (elements == 0) return;
  const int blocks = grid_for(static_cast<std::size_t>(elements));
  multiply<<<blocks, kThreads, 0, stream>>>(product, a, b, dst);
  check_launch("plain_product");
}

template void plain_product(cudaStream_t, const PlainProduct&, const float*, const float*, float*);
template void plain_product(cudaStream_t, const PlainProduct&, const bf16*, const bf16*, bf16*);

}  // namespace trainyard::backend::cuda::device
