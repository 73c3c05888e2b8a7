#include "backend/cuda/rnn/rnn_kernels.h"

#include "backend/cuda/rnn/recurrent_unit.cuh"
#include "backend/cuda/runtime/tensor_cores.cuh"

namespace trainyard::backend::cuda::device {
namespace {

constexpr int kUnits = ResidentSizes::kUnits, kBatch = ResidentSizes::kBatch, kWarps = kThreads / 32;
constexpr int kBands = kBatch / 16;  // of 16 rows, as the matrix units take them

// Sums of the warps, each over its share of the inner dimension. Rows begin in banks 8 apart.
template <int kColumns>
struct Partial {
  static constexpr int kStride = kColumns == 8 ? 8 : 40;
  float at[kWarps][kBatch][kStride];

  __device__ float sum(int row, int column) const {
    float made = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) made += at[warp][row][column];
    return made;
  }
};

// The inner dimension is dealt out so that a lane reads what it needs of a row in one piece: kTiles times
// four numbers. Both operands are dealt out alike, so the sums are the same.
template <int kTiles>
struct Share {
  __device__ Share()
      : row(threadIdx.x % 32 / 4),
        first((static_cast<int>(threadIdx.x) / 32 * 4 + static_cast<int>(threadIdx.x) % 4) * kTiles * 4) {}
  int row;    // of 8
  int first;  // column
};

// Four numbers of a row from `column` on, zero where the row has ended.
__device__ inline uint2 load_four(const bf16* row, int column, std::int64_t end) {
  return column < end ? __ldcg(reinterpret_cast<const uint2*>(row + column)) : make_uint2(0, 0);
}

// sums += a (kBatch rows of `width`, `stride` apart) times what `weight` holds of its share; rows from `rows`
// on are zero.
template <int kTiles, int kSets>
__device__ inline void multiply(const bf16* a, std::int64_t width, std::int64_t rows,
                                const Share<kTiles>& share, const uint2 (&weight)[kSets][kTiles],
                                float (&sums)[kBands][kSets][4]) {
  constexpr int kAtOnce = kTiles < 4 ? kTiles : 4;
#pragma unroll
  for (int tile = 0; tile < kTiles; tile += kAtOnce) {
    uint2 upper[kBands][kAtOnce], lower[kBands][kAtOnce];
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
      const int row = band * 16 + share.row;
#pragma unroll
      for (int t = 0; t < kAtOnce; ++t) {
        const int column = share.first + (tile + t) * 4;
        upper[band][t] = load_four(a + row * width, column, row < rows ? width : 0);
        lower[band][t] = load_four(a + (row + 8) * width, column, row + 8 < rows ? width : 0);
      }
    }
#pragma unroll
    for (int band = 0; band < kBands; ++band)
#pragma unroll
      for (int t = 0; t < kAtOnce; ++t) {
        const std::uint32_t words[4] = {upper[band][t].x, lower[band][t].x, upper[band][t].y,
                                        lower[band][t].y};
#pragma unroll
        for (int set = 0; set < kSets; ++set)
          multiply_add_bf16(sums[band][set], words, weight[set][tile + t].x, weight[set][tile + t].y);
      }
  }
}

template <int kSets>
__device__ inline void store(Partial<kSets * kUnits>& partial, const float (&sums)[kBands][kSets][4]) {
  const int warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int band = 0; band < kBands; ++band)
#pragma unroll
    for (int set = 0; set < kSets; ++set)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<float2*>(&partial.at[warp][band * 16 + half * 8 + row][set * kUnits + column]) =
            make_float2(sums[band][set][2 * half], sums[band][set][2 * half + 1]);
}

// All blocks of a group pass a step together.
class StepBarrier {
 public:
  __device__ explicit StepBarrier(std::uint32_t* counters)
      : arrived_(counters + 2 * blockIdx.y), finished_(arrived_ + 1) {}

  // REQUIRES: a __syncthreads() after the writes that other blocks shall see.
  __device__ void arrive() {
    if (threadIdx.x != 0) return;
    __threadfence();
    atomicAdd(arrived_, 1u);
  }
  __device__ void wait_for(std::uint32_t steps) {
    if (threadIdx.x == 0) {
      const std::uint32_t wanted = steps * gridDim.x;
      while (*static_cast<volatile std::uint32_t*>(arrived_) < wanted) {
      }
      __threadfence();
    }
    __syncthreads();
  }
  // Resets the counters for the next launch, when no block waits any more.
  __device__ void leave() {
    if (threadIdx.x != 0 || atomicAdd(finished_, 1u) != gridDim.x - 1) return;
    *arrived_ = 0;
    *finished_ = 0;
  }

 private:
  std::uint32_t *arrived_, *finished_;
};

// A thread's own unit of one sequence.
struct Own {
  __device__ explicit Own(const ResidentSizes& sizes)
      : row(static_cast<int>(threadIdx.x) / kUnits),
        column(static_cast<int>(threadIdx.x) % kUnits),
        sequence(static_cast<std::int64_t>(blockIdx.y) * kBatch + row),
        unit(static_cast<std::int64_t>(blockIdx.x) * kUnits + column),
        there(sequence < sizes.batch && unit < sizes.hidden) {}
  int row, column;
  std::int64_t sequence, unit;
  bool there;
};

template <int kGates, int kTiles>
__global__ void __launch_bounds__(kThreads) forward(ResidentSizes sizes, ResidentForward tensors) {
  __shared__ Partial<kGates * kUnits> partial;
  const Own own(sizes);
  const Share<kTiles> share;
  const std::int64_t hidden = sizes.hidden,
                     rows_left = sizes.batch - static_cast<std::int64_t>(blockIdx.y) * kBatch;
  uint2 weight[kGates][kTiles];
  const std::int64_t of_unit = static_cast<std::int64_t>(blockIdx.x) * kUnits + share.row;
#pragma unroll
  for (int gate = 0; gate < kGates; ++gate)
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
      weight[gate][tile] = load_four(tensors.recurrent_weight + (gate * hidden + of_unit) * hidden,
                                     share.first + tile * 4, of_unit < hidden ? hidden : 0);
  float bias[kGates];
#pragma unroll
  for (int gate = 0; gate < kGates; ++gate)
    bias[gate] = own.there ? tensors.bias[gate * hidden + own.unit] : 0.0f;

  StepBarrier barrier(tensors.counters);
  float h = 0, c = 0;
  for (std::int64_t t = 0; t < sizes.steps; ++t) {
    const std::int64_t sequence = t * sizes.batch + own.sequence;
    float x[kGates], u[kGates] = {};
#pragma unroll
    for (int gate = 0; gate < kGates; ++gate)
      x[gate] = bias[gate] +
                (own.there ? to_float(tensors.x[(sequence * kGates + gate) * hidden + own.unit]) : 0.0f);
    if (t > 0) {
      barrier.wait_for(static_cast<std::uint32_t>(t));
      float sums[kBands][kGates][4] = {};
      const std::int64_t first = (t - 1) * sizes.batch + static_cast<std::int64_t>(blockIdx.y) * kBatch;
      multiply<kTiles, kGates>(tensors.dst + first * hidden, hidden, rows_left, share, weight, sums);
      store<kGates>(partial, sums);
      __syncthreads();
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) u[gate] = partial.sum(own.row, gate * kUnits + own.column);
    }
    const Unit<kGates> made = step_unit<kGates>(x, u, h, c);
    c = made.inner;
    const bf16 rounded = from_float<bf16>(made.dst);
    h = to_float(rounded);
    if (own.there) {
      tensors.dst[sequence * hidden + own.unit] = rounded;
      if (tensors.gates != nullptr) {
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate)
          tensors.gates[(sequence * kGates + gate) * hidden + own.unit] = from_float<bf16>(made.gates[gate]);
        tensors.inner[sequence * hidden + own.unit] = from_float<bf16>(made.inner);
      }
    }
    __syncthreads();
    barrier.arrive();
  }
  barrier.leave();
}

// Loads the columns of U (rows, hidden) that belong to the units of the block.
template <int kTiles>
__device__ inline void load_columns(const bf16* matrix, std::int64_t rows, std::int64_t hidden,
                                    const Share<kTiles>& share, uint2 (&to)[kTiles]) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kUnits + share.row;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    Vector<bf16, 4> four;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t row = share.first + tile * 4 + i;
      four.at[i] = row < rows && column < hidden ? matrix[row * hidden + column] : from_float<bf16>(0);
    }
    to[tile] = *reinterpret_cast<const uint2*>(&four);
  }
}

template <int kGates, int kTiles>
__global__ void __launch_bounds__(kThreads) backward(ResidentSizes sizes, ResidentBackward tensors) {
  __shared__ Partial<kUnits> partial;
  const Own own(sizes);
  const Share<kTiles> share;
  const std::int64_t hidden = sizes.hidden, rows = kGates * hidden,
                     rows_left = sizes.batch - static_cast<std::int64_t>(blockIdx.y) * kBatch;
  uint2 weight[1][kTiles];
  load_columns<kTiles>(tensors.recurrent_weight, rows, hidden, share, weight[0]);

  StepBarrier barrier(tensors.counters);
  float carried = 0;
  for (std::int64_t t = sizes.steps - 1; t >= 0; --t) {
    const std::int64_t sequence = t * sizes.batch + own.sequence, place = sequence * hidden + own.unit;
    const std::int64_t before = place - sizes.batch * hidden;
    Unit<kGates> unit;
    float d_dst = 0, h = 0, c = 0;
    if (own.there) {
      unit.dst = to_float(tensors.dst[place]);
      d_dst = to_float(tensors.d_dst[place]);
      if (t > 0) h = to_float(tensors.dst[before]);
      if constexpr (kGates > 1) {
#pragma unroll
        for (int gate = 0; gate < kGates; ++gate)
          unit.gates[gate] = to_float(tensors.gates[(sequence * kGates + gate) * hidden + own.unit]);
        unit.inner = to_float(tensors.inner[place]);
        if (t > 0) c = to_float(tensors.inner[before]);
      }
    }
    if (t + 1 < sizes.steps) {
      barrier.wait_for(static_cast<std::uint32_t>(sizes.steps - 1 - t));
      float sums[kBands][1][4] = {};
      const std::int64_t first = (t + 1) * sizes.batch + static_cast<std::int64_t>(blockIdx.y) * kBatch;
      multiply<kTiles, 1>(tensors.d_u + first * rows, rows, rows_left, share, weight, sums);
      store<1>(partial, sums);
      __syncthreads();
      d_dst += partial.sum(own.row, own.column);
      if constexpr (kGates == 3) d_dst += carried;
    }
    const UnitGradient<kGates> made = unit_gradient<kGates>(unit, d_dst, carried, h, c);
    carried = made.carried;
    if (own.there)
#pragma unroll
      for (int gate = 0; gate < kGates; ++gate) {
        const std::int64_t at = (sequence * kGates + gate) * hidden + own.unit;
        tensors.d_x[at] = from_float<bf16>(made.x[gate]);
        if constexpr (kGates == 3) tensors.d_u[at] = from_float<bf16>(gate == 2 ? made.u_last : made.x[gate]);
      }
    __syncthreads();
    barrier.arrive();
  }
  barrier.leave();
}

// Calls start.operator()<kTiles>() with the fewest of 2, 4, .. kMost that hold `inner` numbers.
template <int kMost, typename Start>
auto with_tiles(std::int64_t inner, const Start& start) {
  constexpr std::int64_t kOfTile = kWarps * 16;
  if constexpr (kMost > 2)
    if (inner <= kMost / 2 * kOfTile) return with_tiles<kMost / 2>(inner, start);
  return start.template operator()<kMost>();
}

template <typename Start>
auto with_forward_kernel(const ResidentSizes& sizes, const Start& start) {
  return with_tiles<8>(sizes.hidden, [&]<int kTiles>() {
    return sizes.gates == 1   ? start(forward<1, kTiles>)
           : sizes.gates == 3 ? start(forward<3, kTiles>)
                              : start(forward<4, kTiles>);
  });
}

template <typename Start>
auto with_backward_kernel(const ResidentSizes& sizes, const Start& start) {
  const std::int64_t rows = sizes.gates * sizes.hidden;
  if (sizes.gates == 1) return with_tiles<8>(rows, [&]<int kTiles>() { return start(backward<1, kTiles>); });
  if (sizes.gates == 3) return with_tiles<32>(rows, [&]<int kTiles>() { return start(backward<3, kTiles>); });
  return with_tiles<32>(rows, [&]<int kTiles>() { return start(backward<4, kTiles>); });
}

// Cooperative: none of its blocks starts before all can.
template <typename Tensors>
void start(cudaStream_t stream, const ResidentSizes& sizes, void (*kernel)(ResidentSizes, Tensors),
           const Tensors& tensors) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(sizes.blocks_of_group(), sizes.groups());
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, sizes, tensors), "recurrent_resident");
}

}  // namespace

bool resident_fits(const ResidentSizes& sizes, bool is_backward, int multiprocessors) {
  if (sizes.hidden % 4 != 0 || sizes.hidden > ResidentSizes::kMostHidden) return false;
  const auto fits = [&](auto* kernel) {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0), "recurrent_resident");
    return static_cast<std::int64_t>(blocks) * multiprocessors >=
           static_cast<std::int64_t>(sizes.groups()) * sizes.blocks_of_group();
  };
  return is_backward ? with_backward_kernel(sizes, fits) : with_forward_kernel(sizes, fits);
}

void recurrent_resident(cudaStream_t stream, const ResidentSizes& sizes, const ResidentForward& tensors) {
  with_forward_kernel(sizes, [&](auto* kernel) { start(stream, sizes, kernel, tensors); });
}

void recurrent_resident_grad(cudaStream_t stream, const ResidentSizes& sizes,
                             const ResidentBackward& tensors) {
  with_backward_kernel(sizes, [&](auto* kernel) { start(stream, sizes, kernel, tensors); });
}

}  // namespace trainyard::backend::cuda::device
