#include "backend/cuda/attention/tiled.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// More rows of a warp read the same keys: fewer loads of shared memory for a product. Small heads leave
// registers for more keys at once.
template <typename T, int kSize>
struct ForwardTile {
  static constexpr int kHeight = 2;
  static constexpr int kRows = kTiledWarps * 16 * kHeight;
  static constexpr int kKeys = kSize <= 64 ? 64 : 32;
  static constexpr std::size_t kBytes = TiledVectors<T, kSize>::bytes(kRows + 4 * kKeys);
};

// The rows of a thread: of each the highest score, and the sum of exponentials of what is below it.
template <int kHeight>
struct RowSums {
  float highest[kHeight][2], sum[kHeight][2];

  __device__ RowSums() {
#pragma unroll
    for (int m = 0; m < kHeight; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        highest[m][half] = -INFINITY;
        sum[m][half] = 0;
      }
  }

  // Makes exponentials of the scores of one row, and returns by what all that was summed before is to be
  // multiplied. Scores times `scale` are logarithms to the base 2.
  template <int kTiles>
  __device__ float take(int m, int half, float scale, float (&scores)[kTiles][4]) {
    float now = highest[m][half];
#pragma unroll
    for (int n = 0; n < kTiles; ++n) now = fmaxf(now, fmaxf(scores[n][half * 2], scores[n][half * 2 + 1]));
    now = fmaxf(now, __shfl_xor_sync(0xFFFFFFFFu, now, 1));
    now = fmaxf(now, __shfl_xor_sync(0xFFFFFFFFu, now, 2));
    // A row that has seen no key yet has no highest score to subtract.
    const float base = now == -INFINITY ? 0.0f : now * scale;
    const float before = power_of_two(highest[m][half] * scale - base);
    highest[m][half] = now;
    float made = 0;
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int i = half * 2; i < half * 2 + 2; ++i) {
        scores[n][i] = power_of_two(scores[n][i] * scale - base);
        made += scores[n][i];
      }
    sum[m][half] = sum[m][half] * before + made;
    return before;
  }
  __device__ float total(int m, int half) const {
    float all = sum[m][half];
    all += __shfl_xor_sync(0xFFFFFFFFu, all, 1);
    return all + __shfl_xor_sync(0xFFFFFFFFu, all, 2);
  }
};

// ForwardBlock holds what a block of queries works on.
struct ForwardBlock {
  int n, head, first, of_sequence;

  __device__ ForwardBlock(const AttentionShape& shape, int rows) {
    const TileOfBlock block(blockIdx.x, (shape.steps + rows - 1) / rows, shape.sequences, shape.heads,
                            shape.causal);
    n = block.n;
    head = block.head;
    first = block.tile * rows;
    of_sequence = keys_of_sequence(shape, n);
  }
};

// Makes probabilities, up to a factor of each row, of the scores of this thread: its first row is query t,
// its first column key s. What was made of earlier keys is scaled to the new highest score.
template <int kSize, int kHeight, int kKeys>
__device__ inline void weigh(const AttentionShape& shape, const ProbabilityDropout& dropout,
                             const ForwardBlock& block, int t, int s, bool all_count, RowSums<kHeight>& sums,
                             Products<kHeight, kKeys>& pairs, Products<kHeight, kSize>& made) {
#pragma unroll
  for (int m = 0; m < kHeight; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = t + m * 16 + half * 8;
      if (!all_count) {
        const int seen = seen_by(shape, block.of_sequence, row);
#pragma unroll
        for (int k = 0; k < kKeys / 8; ++k)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (s + k * 8 + i >= seen) pairs[m][k][half * 2 + i] = -INFINITY;
      }
      const float before = sums.take(m, half, shape.scale * kLog2OfE, pairs[m]);
#pragma unroll
      for (int d = 0; d < kSize / 8; ++d) {
        made[m][d][half * 2] *= before;
        made[m][d][half * 2 + 1] *= before;
      }
    }
  if (!dropout.drops()) return;
#pragma unroll
  for (int m = 0; m < kHeight; ++m)
#pragma unroll
    for (int k = 0; k < kKeys / 8; ++k) {
      float kept[2][2];
      dropout.kept_of_queries(t + m * 16, s + k * 8, kept);
#pragma unroll
      for (int i = 0; i < 4; ++i) pairs[m][k][i] *= kept[i / 2][i % 2];
    }
}

template <typename T, int kSize, int kHeight>
__device__ inline void store_rows(const AttentionShape& shape, const ForwardBlock& block, int t,
                                  const RowSums<kHeight>& sums, const Products<kHeight, kSize>& made, T* dst,
                                  float* log_sums) {
#pragma unroll
  for (int m = 0; m < kHeight; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = t + m * 16 + half * 8;
      const float sum = sums.total(m, half);
      if (row >= shape.steps) continue;
      TiledVectors<T, kSize>::store(
          made[m], half, sum == 0 ? 0.0f : 1 / sum, shape.head_size,
          dst + shape.dst(block.n, block.head) + row * shape.step_stride * shape.dst_width());
      if (threadIdx.x % 4 == 0)
        log_sums[shape.log_sum(block.n, block.head) + row] =
            sum == 0 ? 0.0f : sums.highest[m][half] * shape.scale + logf(sum);
    }
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kTiledThreads)
    tiled_forward(const __grid_constant__ AttentionShape shape, const T* qkv, T* dst, float* log_sums) {
  using Sizes = ForwardTile<T, kSize>;
  using Tile = TiledVectors<T, kSize>;
  constexpr int kHeight = Sizes::kHeight, kKeys = Sizes::kKeys, kRows = Sizes::kRows;
  extern __shared__ uint4 memory[];
  const std::uint32_t queries = shared_address(memory), keys = queries + Tile::bytes(kRows),
                      values = keys + Tile::bytes(2 * kKeys);
  const ForwardBlock block(shape, kRows);
  const int kv_head = shape.kv_head_of(block.head), first = block.first, lane = threadIdx.x % 32;
  const int first_row = threadIdx.x / 32 * 16 * kHeight;  // of the warp
  const std::int64_t stride = shape.step_stride * shape.width();
  const int end = seen_by(shape, block.of_sequence, min(first + kRows, shape.steps) - 1);
  const int tiles = (end + kKeys - 1) / kKeys;
  const auto copy_keys = [&](int tile) {
    const std::uint32_t stage = Tile::bytes(tile % 2 * kKeys);
    Tile::template copy<kKeys>(qkv + shape.key(block.n, kv_head), stride, tile * kKeys, shape.steps,
                               shape.head_size, keys + stage);
    Tile::template copy<kKeys>(qkv + shape.value(block.n, kv_head), stride, tile * kKeys, shape.steps,
                               shape.head_size, values + stage);
  };
  if (tiles > 0) {
    Tile::template copy<kRows>(qkv + shape.query(block.n, block.head), stride, first, shape.steps,
                               shape.head_size, queries);
    copy_keys(0);
  }
  commit_copies();
  const ProbabilityDropout dropout(shape, block.n, block.head);
  // The last row of the warp sees the most keys: tiles beyond them are for other warps.
  const int last_t = min(first + first_row + 16 * kHeight, shape.steps) - 1;
  const int most_seen = last_t < first + first_row ? 0 : seen_by(shape, block.of_sequence, last_t);
  RowSums<kHeight> sums;
  Products<kHeight, kSize> made = {};
  for (int tile = 0; tile < tiles; ++tile) {
    wait_copies<0>();
    __syncthreads();  // all have copied this tile, and none reads the one before
    if (tile + 1 < tiles) copy_keys(tile + 1);
    commit_copies();
    if (tile * kKeys >= most_seen) continue;
    const std::uint32_t stage = Tile::bytes(tile % 2 * kKeys);
    Products<kHeight, kKeys> pairs;
    Tile::template multiply<kHeight, kKeys>(queries, first_row, keys + stage, pairs);
    const bool all_count = (tile + 1) * kKeys <= seen_by(shape, block.of_sequence, first + first_row);
    weigh<kSize, kHeight, kKeys>(shape, dropout, block, first + first_row + lane / 4,
                                 tile * kKeys + lane % 4 * 2, all_count, sums, pairs, made);
    Tile::template add<kHeight, kKeys>(pairs, values + stage, made);
  }
  store_rows<T, kSize, kHeight>(shape, block, first + first_row + lane / 4, sums, made, dst, log_sums);
}

}  // namespace

template <typename T>
void attention_tiled(cudaStream_t stream, const AttentionShape& shape, const T* qkv, T* dst,
                     float* log_sums) {
  if (shape.sequences == 0) return;
  with_tiled_size(shape.head_size, [&]<int kSize>() {
    using Sizes = ForwardTile<T, kSize>;
    const std::int64_t tiles = (shape.steps + Sizes::kRows - 1) / Sizes::kRows;
    start_tiled(stream, tiled_forward<T, kSize>, tiles * shape.sequences * shape.heads, Sizes::kBytes, shape,
                qkv, dst, log_sums);
  });
  check_launch("attention_tiled");
}

template void attention_tiled(cudaStream_t, const AttentionShape&, const float*, float*, float*);
template void attention_tiled(cudaStream_t, const AttentionShape&, const bf16*, bf16*, float*);

}  // namespace trainyard::backend::cuda::device
