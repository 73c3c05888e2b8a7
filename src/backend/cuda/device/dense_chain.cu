#include "backend/cuda/device/activation.cuh"
#include "backend/cuda/device/dense_chain.cuh"

namespace trainyard::backend::cuda::device {
namespace {

template <typename T, int kWidth, int kRows>
__global__ void __launch_bounds__(kThreads)
    forward(ChainSizes sizes, const T* src, const __grid_constant__ ChainTable<ForwardLayer> layers,
            Activation activation) {
  using Memory = ChainMemory<T, kWidth, kRows, ForwardLayer>;
  using Place = ChainPlace<kWidth, kRows>;
  using Stage = typename Memory::Stage;
  constexpr int kStages = Memory::kStages, kVector = Stage::kVector;
  extern __shared__ std::byte bytes[];
  Memory& memory = *reinterpret_cast<Memory*>(bytes);
  memory.clear();
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRows;
  const int column = Place::column();
  for (int layer = threadIdx.x; layer < sizes.layers; layer += kThreads)
    memory.layers.at[layer] = layers.at[layer];
  for (int own = 0; own < Place::kOwn; ++own)
    if (const std::int64_t row = first + Place::row(own); row < sizes.rows && column < sizes.width)
      memory.rows[0][Place::row(own) * kWidth + column] = to_float(src[row * sizes.width + column]);
  __syncthreads();

  const auto fetch = [&](int layer) {
    if (layer < sizes.layers) {
      Stage& stage = memory.stages[layer % kStages];
      stage.fetch_weight(static_cast<const T*>(memory.layers.at[layer].weight), sizes.width);
      stage.fetch_bias(memory.layers.at[layer].bias, sizes.width);
    }
    commit_copies();
  };
  for (int layer = 0; layer < kStages - 1; ++layer) fetch(layer);
  for (int layer = 0; layer < sizes.layers; ++layer) {
    wait_copies<kStages - 2>();
    __syncthreads();
    fetch(layer + kStages - 1);
    const Stage& stage = memory.stages[layer % kStages];
    const float* before = memory.rows[layer % 2];
    float sums[Place::kOwn];
    for (float& sum : sums) sum = stage.bias[column];
#pragma unroll 8
    for (int i = 0; i < kWidth; i += kVector) {
      const auto weight =
          *reinterpret_cast<const Vector<T, kVector>*>(stage.weight + column * Stage::kStride + i);
#pragma unroll
      for (int own = 0; own < Place::kOwn; ++own) {
        const float* x = before + Place::row(own) * kWidth + i;
#pragma unroll
        for (int v = 0; v < kVector; v += 4) {
          const float4 four = *reinterpret_cast<const float4*>(x + v);
          sums[own] += four.x * to_float(weight.at[v]) + four.y * to_float(weight.at[v + 1]) +
                       four.z * to_float(weight.at[v + 2]) + four.w * to_float(weight.at[v + 3]);
        }
      }
    }
    T* dst = static_cast<T*>(memory.layers.at[layer].dst);
#pragma unroll
    for (int own = 0; own < Place::kOwn; ++own) {
      const T made = from_float<T>(activate(activation, sums[own]));
      memory.rows[(layer + 1) % 2][Place::row(own) * kWidth + column] = to_float(made);
      if (const std::int64_t row = first + Place::row(own);
          dst != nullptr && row < sizes.rows && column < sizes.width)
        dst[row * sizes.width + column] = made;
    }
  }
}

template <typename T, int kWidth, int kRows>
__global__ void __launch_bounds__(kThreads)
    backward(ChainSizes sizes, const T* d_sum, const __grid_constant__ ChainTable<BackwardLayer> layers,
             Activation activation) {
  using Memory = ChainMemory<T, kWidth, kRows, BackwardLayer>;
  using Place = ChainPlace<kWidth, kRows>;
  using Stage = typename Memory::Stage;
  constexpr int kStages = Memory::kStages;
  extern __shared__ std::byte bytes[];
  Memory& memory = *reinterpret_cast<Memory*>(bytes);
  memory.clear();
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRows;
  const int column = Place::column();
  for (int layer = threadIdx.x; layer < sizes.layers; layer += kThreads)
    memory.layers.at[layer] = layers.at[layer];
  for (int own = 0; own < Place::kOwn; ++own)
    if (const std::int64_t row = first + Place::row(own); row < sizes.rows && column < sizes.width)
      memory.rows[0][Place::row(own) * kWidth + column] = to_float(d_sum[row * sizes.width + column]);
  __syncthreads();

  const auto fetch = [&](int layer) {
    if (layer < sizes.layers) {
      Stage& stage = memory.stages[layer % kStages];
      const BackwardLayer& of = memory.layers.at[layer];
      stage.fetch_weight(static_cast<const T*>(of.weight), sizes.width);
      if (of.dst != nullptr) stage.fetch_rows(static_cast<const T*>(of.dst), first, sizes.rows, sizes.width);
    }
    commit_copies();
  };
  for (int layer = 0; layer < kStages - 1; ++layer) fetch(layer);
  for (int layer = 0; layer < sizes.layers; ++layer) {
    wait_copies<kStages - 2>();
    __syncthreads();
    fetch(layer + kStages - 1);
    const Stage& stage = memory.stages[layer % kStages];
    const float* before = memory.rows[layer % 2];
    float sums[Place::kOwn] = {};
#pragma unroll 8
    for (int o = 0; o < kWidth; o += 4) {
      float weight[4];
#pragma unroll
      for (int v = 0; v < 4; ++v) weight[v] = to_float(stage.weight[(o + v) * Stage::kStride + column]);
#pragma unroll
      for (int own = 0; own < Place::kOwn; ++own) {
        const float4 four = *reinterpret_cast<const float4*>(before + Place::row(own) * kWidth + o);
        sums[own] += four.x * weight[0] + four.y * weight[1] + four.z * weight[2] + four.w * weight[3];
      }
    }
    const BackwardLayer& of = memory.layers.at[layer];
#pragma unroll
    for (int own = 0; own < Place::kOwn; ++own) {
      const int place = Place::row(own) * kWidth + column;
      const float slope =
          of.dst == nullptr ? 1.0f : activation_slope(activation, to_float(stage.rows[place]));
      const T made = from_float<T>(sums[own] * slope);
      memory.rows[(layer + 1) % 2][place] = to_float(made);
      if (const std::int64_t row = first + Place::row(own); row < sizes.rows && column < sizes.width)
        static_cast<T*>(of.made)[row * sizes.width + column] = made;
    }
  }
}

template <typename Memory, typename Kernel, typename... Arguments>
void start(cudaStream_t stream, unsigned blocks, Kernel* kernel, const Arguments&... arguments) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(sizeof(Memory))),
        "dense_chain");
  kernel<<<blocks, kThreads, sizeof(Memory), stream>>>(arguments...);
  check_launch("dense_chain");
}

}  // namespace

template <typename T>
void dense_chain(cudaStream_t stream, const ChainSizes& sizes, const T* src,
                 const ChainTable<ForwardLayer>& layers, Activation activation) {
  with_chain_room(sizes, [&]<int kWidth, int kRows>(unsigned blocks) {
    start<ChainMemory<T, kWidth, kRows, ForwardLayer>>(stream, blocks, forward<T, kWidth, kRows>, sizes, src,
                                                       layers, activation);
  });
}

template <typename T>
void dense_chain_d_src(cudaStream_t stream, const ChainSizes& sizes, const T* d_sum,
                       const ChainTable<BackwardLayer>& layers, Activation activation) {
  with_chain_room(sizes, [&]<int kWidth, int kRows>(unsigned blocks) {
    start<ChainMemory<T, kWidth, kRows, BackwardLayer>>(stream, blocks, backward<T, kWidth, kRows>, sizes,
                                                        d_sum, layers, activation);
  });
}

template void dense_chain(cudaStream_t, const ChainSizes&, const float*, const ChainTable<ForwardLayer>&,
                          Activation);
template void dense_chain(cudaStream_t, const ChainSizes&, const bf16*, const ChainTable<ForwardLayer>&,
                          Activation);
template void dense_chain_d_src(cudaStream_t, const ChainSizes&, const float*,
                                const ChainTable<BackwardLayer>&, Activation);
template void dense_chain_d_src(cudaStream_t, const ChainSizes&, const bf16*,
                                const ChainTable<BackwardLayer>&, Activation);

}  // namespace trainyard::backend::cuda::device
