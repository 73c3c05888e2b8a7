#include "backend/cuda/dense/dense_chain.cuh"
#include "backend/cuda/elementwise/elementwise.cuh"

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

namespace {

constexpr int kChunk = 32;  // rows at a time in shared memory

// Returns the number of blocks that share the rows of a layer: few layers of many rows fill the GPU, too.
int parts_of(const ChainSizes& sizes) {
  constexpr std::int64_t kBlocks = 528, kLeastRows = 128, kMostParts = 64;
  const std::int64_t by_rows = (sizes.rows + kLeastRows - 1) / kLeastRows;
  return static_cast<int>(std::clamp<std::int64_t>(std::min(by_rows, kBlocks / sizes.layers), 1, kMostParts));
}

// Floats of d_weight and d_bias together.
__host__ __device__ std::int64_t layer_floats(const ChainSizes& sizes) {
  return static_cast<std::int64_t>(sizes.width) * (sizes.width + 1);
}

// One block takes a part of the rows of a layer. A thread makes (kWidth / 16)^2 elements.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    weight_gradient(ChainSizes sizes, const __grid_constant__ ChainTable<WeightLayer> layers, float* parts) {
  constexpr int kSide = kWidth / 16, kVector = 16 / sizeof(T), kPieces = kWidth / kVector;
  __shared__ alignas(16) float d_sum[kChunk][kWidth];
  __shared__ alignas(16) float src[kChunk][kWidth];
  const WeightLayer& layer = layers.at[blockIdx.x];
  const int down = threadIdx.x / 16, across = threadIdx.x % 16;
  const std::int64_t chunks = (sizes.rows + kChunk - 1) / kChunk;
  const std::int64_t begin = chunks * blockIdx.y / gridDim.y * kChunk;
  const std::int64_t end = min(chunks * (blockIdx.y + 1) / gridDim.y * kChunk, sizes.rows);
  float sums[kSide][kSide] = {};
  float of_bias = 0;
  for (std::int64_t first = begin; first < end; first += kChunk) {
    __syncthreads();  // the chunk before may still be read
    for (int piece = threadIdx.x; piece < kChunk * kPieces; piece += kThreads) {
      const int row = piece / kPieces, column = piece % kPieces * kVector;
      const bool there = first + row < end && column < sizes.width;
      const std::int64_t place = (first + row) * sizes.width + column;
      Vector<T, kVector> a{}, b{};
      if (there) {
        a = *reinterpret_cast<const Vector<T, kVector>*>(static_cast<const T*>(layer.d_sum) + place);
        b = *reinterpret_cast<const Vector<T, kVector>*>(static_cast<const T*>(layer.src) + place);
      }
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        d_sum[row][column + v] = there ? to_float(a.at[v]) : 0.0f;
        src[row][column + v] = there ? to_float(b.at[v]) : 0.0f;
      }
    }
    __syncthreads();
#pragma unroll 4
    for (int row = 0; row < kChunk; ++row) {
      float a[kSide], b[kSide];
#pragma unroll
      for (int s = 0; s < kSide; ++s) {
        a[s] = d_sum[row][down + 16 * s];
        b[s] = src[row][across + 16 * s];
      }
#pragma unroll
      for (int s = 0; s < kSide; ++s)
#pragma unroll
        for (int t = 0; t < kSide; ++t) sums[s][t] += a[s] * b[t];
      if (threadIdx.x < kWidth) of_bias += d_sum[row][threadIdx.x];
    }
  }
  float* part = parts == nullptr ? nullptr
                                 : parts + (static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y) *
                                               layer_floats(sizes);
#pragma unroll
  for (int s = 0; s < kSide; ++s)
#pragma unroll
    for (int t = 0; t < kSide; ++t) {
      const int o = down + 16 * s, i = across + 16 * t;
      if (o >= sizes.width || i >= sizes.width) continue;
      if (part != nullptr)
        part[o * sizes.width + i] = sums[s][t];
      else
        static_cast<T*>(layer.d_weight)[o * sizes.width + i] = from_float<T>(sums[s][t]);
    }
  if (const int o = threadIdx.x; o < sizes.width)
    (part != nullptr ? part + sizes.width * sizes.width : layer.d_bias)[o] = of_bias;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    add_parts(ChainSizes sizes, const __grid_constant__ ChainTable<WeightLayer> layers,
              const float* __restrict__ parts, int count) {
  const WeightLayer& layer = layers.at[blockIdx.x];
  const std::int64_t floats = layer_floats(sizes),
                     weights = static_cast<std::int64_t>(sizes.width) * sizes.width;
  parts += blockIdx.x * count * floats;
  for (std::int64_t e = blockIdx.y * kThreads + threadIdx.x; e < floats; e += gridDim.y * kThreads) {
    float sum = 0;
    for (int part = 0; part < count; ++part) sum += parts[part * floats + e];
    if (e < weights)
      static_cast<T*>(layer.d_weight)[e] = from_float<T>(sum);
    else
      layer.d_bias[e - weights] = sum;
  }
}

}  // namespace

std::int64_t dense_chain_parts(const ChainSizes& sizes) {
  const int parts = parts_of(sizes);
  return parts == 1 ? 0 : parts * sizes.layers * layer_floats(sizes);
}

template <typename T>
void dense_chain_d_weight(cudaStream_t stream, const ChainSizes& sizes, const ChainTable<WeightLayer>& layers,
                          float* parts) {
  const int count = parts_of(sizes);
  if (count == 1) parts = nullptr;
  const dim3 grid(static_cast<unsigned>(sizes.layers), static_cast<unsigned>(count));
  const auto start = [&]<int kWidth>() {
    weight_gradient<T, kWidth><<<grid, kThreads, 0, stream>>>(sizes, layers, parts);
  };
  if (sizes.width <= 32)
    start.template operator()<32>();
  else if (sizes.width <= 64)
    start.template operator()<64>();
  else
    start.template operator()<128>();
  check_launch("dense_chain_d_weight");
  if (count == 1) return;
  const auto blocks = static_cast<unsigned>((layer_floats(sizes) + kThreads - 1) / kThreads);
  add_parts<T><<<dim3(grid.x, std::min(blocks, 8u)), kThreads, 0, stream>>>(sizes, layers, parts, count);
  check_launch("dense_chain_d_weight");
}

template void dense_chain_d_weight<float>(cudaStream_t, const ChainSizes&, const ChainTable<WeightLayer>&,
                                          float*);
template void dense_chain_d_weight<bf16>(cudaStream_t, const ChainSizes&, const ChainTable<WeightLayer>&,
                                         float*);

}  // namespace trainyard::backend::cuda::device
