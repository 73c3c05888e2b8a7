#include "backend/cuda/attention/tiled.cuh"
#include "backend/cuda/attention/warpgroup_work.cuh"

namespace trainyard::backend::cuda::device {

// The formulas are those of plain_grad.cu. As in tiled_grad.cu one kernel has keys as its own rows, the other
// one queries: so each sum has one order, and no pair lies in memory. A block is one warpgroup and has 64
// rows.

namespace {

constexpr int kTile = kWarpgroupTile, kSteps = kTile / 16;  // steps of a product

// The row of the products of a thread; it also has that 8 below.
__device__ inline int row_of_thread() {
  return static_cast<int>(threadIdx.x) / 32 * 16 + threadIdx.x % 32 / 4;
}
__device__ inline int column_of_thread() { return threadIdx.x % 4 * 2; }

__device__ inline std::uint32_t round_two(float a, float b) {
  const __nv_bfloat162 two = __floats2bfloat162_rn(a, b);
  return reinterpret_cast<const std::uint32_t&>(two);
}

__device__ inline float2 load_two(std::uint32_t address) {
  float2 two;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(two.x), "=f"(two.y) : "r"(address));
  return two;
}

// A product's first operand, 16 columns each.
using Rounded = std::uint32_t[kSteps][4];

// Starts the scores, and in a group of their own the gradients of the probabilities.
template <bool kOwnKeys>
__device__ inline void start_pairs(const WarpgroupWork<kOwnKeys>& work, int stage, WarpgroupSums& scores,
                                   WarpgroupSums& d_probabilities) {
  const std::uint64_t own_first = SwizzledTile::describe(work.own_first()),
                      own_second = SwizzledTile::describe(work.own_second()),
                      other_first = SwizzledTile::describe(work.other_first(stage)),
                      other_second = SwizzledTile::describe(work.other_second(stage));
  begin_products();
  multiply_tiles<false, false>(scores, own_first, other_first);
#pragma unroll
  for (int k = 1; k < kSteps; ++k)
    multiply_add_tiles<false, false>(scores, own_first + k * SwizzledTile::kAlongRows,
                                     other_first + k * SwizzledTile::kAlongRows);
  commit_products();
  multiply_tiles<false, false>(d_probabilities, own_second, other_second);
#pragma unroll
  for (int k = 1; k < kSteps; ++k)
    multiply_add_tiles<false, false>(d_probabilities, own_second + k * SwizzledTile::kAlongRows,
                                     other_second + k * SwizzledTile::kAlongRows);
  commit_products();
}

// Starts sums += rounded pairs times the vectors of the other side.
__device__ inline void start_sums(const Rounded& pairs, std::uint32_t vectors, WarpgroupSums& sums) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k)
    multiply_add_registers<true>(sums, pairs[k],
                                 SwizzledTile::describe(vectors) + k * SwizzledTile::kAcrossRows);
}

// Takes out the pairs that do not count: their probabilities become zero.
template <bool kOwnKeys>
__device__ inline void mask(const WarpgroupWork<kOwnKeys>& work, int other, WarpgroupSums& scores) {
  const AttentionShape& shape = work.shape;
  const int first_t = kOwnKeys ? other : work.first, first_s = kOwnKeys ? work.first : other;
  if (first_t + kTile <= shape.steps && first_s + kTile <= seen_by(shape, work.of_sequence, first_t)) return;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    // A row counts its columns from the first one to the end.
    const int row = work.first + row_of_thread() + half * 8, column = other + column_of_thread();
    int from = 0, end = shape.steps;
    if constexpr (kOwnKeys) {
      from = row >= work.of_sequence ? shape.steps : shape.causal ? row : 0;
    } else {
      end = row < shape.steps ? seen_by(shape, work.of_sequence, row) : 0;
    }
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const bool is_there = n * 8 + i >= from - column && n * 8 + i < end - column;
        scores[n][half * 2 + i] = is_there ? scores[n][half * 2 + i] : -INFINITY;
      }
  }
}

__device__ inline void store_row(const WarpgroupSums& sums, int half, float factor, int size, bf16* to) {
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const int d = n * 8 + column_of_thread();
    if (d < size)
      *reinterpret_cast<std::uint32_t*>(to + d) =
          round_two(sums[n][half * 2] * factor, sums[n][half * 2 + 1] * factor);
  }
}

// Leaves the sums of the columns of a block in its part.
template <bool kOwnKeys>
__device__ inline void leave_column_sums(const WarpgroupWork<kOwnKeys>& work, const WarpgroupSums& sums,
                                         float factor, std::int64_t first_column, float* scratch) {
  __syncthreads();  // nobody reads tiles or sums any more
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int n = 0; n < 8; ++n)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float sum = sums[n][i] + sums[n][2 + i];
#pragma unroll
      for (int offset = 4; offset < 32; offset *= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
      if (lane < 4) scratch[warp * kTile + n * 8 + lane * 2 + i] = sum;
    }
  __syncthreads();
  const int d = threadIdx.x, tiles = (work.shape.steps + kTile - 1) / kTile;
  if (d >= work.shape.head_size) return;
  float sum = 0;
  for (int w = 0; w < kWarpgroup / 32; ++w) sum += scratch[w * kTile + d];
  const std::int64_t part = static_cast<std::int64_t>(work.n) * tiles + work.first / kTile;
  work.at.column_parts[part * work.shape.width() + first_column + d] = sum * factor;
}

__global__ void __launch_bounds__(kWarpgroup, WarpgroupWork<true>::kBlocks)
    grad_of_keys(const __grid_constant__ AttentionShape shape,
                 const __grid_constant__ AttentionGradient<bf16> at) {
  extern __shared__ uint4 memory[];
  const WarpgroupWork<true> work(shape, at, memory);
  const float scale = shape.scale * kLog2OfE;
  WarpgroupSums d_keys = {}, d_values = {};
  work.for_turns([&](int t, int stage) {
    const std::uint32_t statistics = work.statistics(stage) + column_of_thread() * sizeof(float);
    WarpgroupSums pairs, d_pairs;
    start_pairs(work, stage, pairs, d_pairs);
    wait_products<1>();
    keep(pairs);
    mask(work, t, pairs);
    Rounded probabilities, d_scores;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const float2 two = load_two(statistics + n * 8 * sizeof(float));
      const float log_sums[2] = {two.x * kLog2OfE, two.y * kLog2OfE};
#pragma unroll
      for (int i = 0; i < 4; ++i) pairs[n][i] = power_of_two(fmaf(pairs[n][i], scale, -log_sums[i % 2]));
#pragma unroll
      for (int half = 0; half < 2; ++half)
        probabilities[n / 2][n % 2 * 2 + half] = round_two(pairs[n][half * 2], pairs[n][half * 2 + 1]);
    }
    wait_products<0>();
    keep(d_pairs);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const float2 deltas = load_two(statistics + (kTile + n * 8) * sizeof(float));
#pragma unroll
      for (int half = 0; half < 2; ++half)
        d_scores[n / 2][n % 2 * 2 + half] =
            round_two(pairs[n][half * 2] * (d_pairs[n][half * 2] - deltas.x),
                      pairs[n][half * 2 + 1] * (d_pairs[n][half * 2 + 1] - deltas.y));
    }
    keep(d_values);
    keep(d_keys);
    begin_products();
    start_sums(probabilities, work.other_second(stage), d_values);
    start_sums(d_scores, work.other_first(stage), d_keys);
    commit_products();
    wait_products<0>();
    keep(d_values);
    keep(d_keys);
  });
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int s = work.first + row_of_thread() + half * 8;
    if (s >= shape.steps) continue;
    bf16* to = at.d_qkv + s * work.stride;
    store_row(d_keys, half, shape.scale, shape.head_size, to + shape.key(work.n, work.kv_head));
    store_row(d_values, half, 1.0f, shape.head_size, to + shape.value(work.n, work.kv_head));
  }
  if (at.column_parts == nullptr) return;
  auto* scratch = reinterpret_cast<float*>(memory);
  leave_column_sums(work, d_keys, shape.scale, shape.key(0, work.kv_head), scratch);
  leave_column_sums(work, d_values, 1.0f, shape.value(0, work.kv_head), scratch);
}

// The product of a query's d_dst and dst, shared by the four threads that have its row.
__device__ inline float delta(const AttentionShape& shape, const AttentionGradient<bf16>& at,
                              std::int64_t from, bool is_there) {
  float sum = 0;
#pragma unroll
  for (int d = threadIdx.x % 4 * 8; d < kTile; d += 32) {
    if (!is_there || d >= shape.head_size) continue;
    const auto y = *reinterpret_cast<const Vector<bf16, 8>*>(at.dst + from + d);
    const auto d_y = *reinterpret_cast<const Vector<bf16, 8>*>(at.d_dst + from + d);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += to_float(y.at[i]) * to_float(d_y.at[i]);
  }
  sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
  return sum + __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
}

__global__ void __launch_bounds__(kWarpgroup, WarpgroupWork<false>::kBlocks)
    grad_of_queries(const __grid_constant__ AttentionShape shape,
                    const __grid_constant__ AttentionGradient<bf16> at) {
  extern __shared__ uint4 memory[];
  const WarpgroupWork<false> work(shape, at, memory);
  const float scale = shape.scale * kLog2OfE;
  float log_sums[2], deltas[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int t = work.first + row_of_thread() + half * 8;
    const bool is_there = t < shape.steps;
    const std::int64_t number = shape.log_sum(work.n, work.first_head) + t;
    log_sums[half] = is_there ? at.log_sums[number] * kLog2OfE : 0.0f;
    deltas[half] = delta(shape, at, shape.dst(work.n, work.first_head) + t * work.dst_stride, is_there);
    if (is_there && threadIdx.x % 4 == 0) at.deltas[number] = deltas[half];
  }
  WarpgroupSums d_queries = {};
  work.for_turns([&](int s, int stage) {
    WarpgroupSums pairs, d_pairs;
    start_pairs(work, stage, pairs, d_pairs);
    wait_products<1>();
    keep(pairs);
    mask(work, s, pairs);
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) pairs[n][i] = power_of_two(fmaf(pairs[n][i], scale, -log_sums[i / 2]));
    wait_products<0>();
    keep(d_pairs);
    Rounded d_scores;
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        d_scores[n / 2][n % 2 * 2 + half] =
            round_two(pairs[n][half * 2] * (d_pairs[n][half * 2] - deltas[half]),
                      pairs[n][half * 2 + 1] * (d_pairs[n][half * 2 + 1] - deltas[half]));
    keep(d_queries);
    begin_products();
    start_sums(d_scores, work.other_first(stage), d_queries);
    commit_products();
    wait_products<0>();
    keep(d_queries);
  });
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int t = work.first + row_of_thread() + half * 8;
    if (t < shape.steps)
      store_row(d_queries, half, shape.scale, shape.head_size,
                at.d_qkv + shape.query(work.n, work.first_head) + t * work.stride);
  }
  if (at.column_parts == nullptr) return;
  leave_column_sums(work, d_queries, shape.scale, shape.query(0, work.first_head),
                    reinterpret_cast<float*>(memory));
}

template <bool kOwnKeys>
void start_side(cudaStream_t stream, void (*kernel)(AttentionShape, AttentionGradient<bf16>),
                const AttentionShape& shape, const AttentionGradient<bf16>& at) {
  const std::int64_t tiles = (shape.steps + kTile - 1) / kTile;
  start_tiled(stream, kernel, tiles * shape.sequences * (kOwnKeys ? shape.kv_heads : shape.heads),
              WarpgroupWork<kOwnKeys>::kBytes, shape, at);
}

}  // namespace

void attention_warpgroup_grad(cudaStream_t stream, const AttentionShape& shape,
                              const AttentionGradient<bf16>& at) {
  static_assert(kTiledThreads == kWarpgroup);
  if (shape.sequences == 0) return;
  start_side<false>(stream, grad_of_queries, shape, at);  // also fills the deltas that keys need
  start_side<true>(stream, grad_of_keys, shape, at);
  check_launch("attention_warpgroup_grad");
}

}  // namespace trainyard::backend::cuda::device
