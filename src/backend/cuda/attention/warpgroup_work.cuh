#pragma once

#include "backend/cuda/attention/attention.cuh"
#include "backend/cuda/runtime/warpgroup.cuh"

// The work of a block of the gradient by warpgroups, and its way into shared memory.
namespace trainyard::backend::cuda::device {

static_assert(kWarpgroupTile == SwizzledTile::kRows && kLargestWarpgroupHead == SwizzledTile::kRows);

// A row of either side has two vectors: (query, d_dst) or (key, value).
template <bool kOwnKeys>
struct WarpgroupWork {
  static constexpr int kTile = kWarpgroupTile,
                       kStages = 2;  // one tile of the other side in use, one on its way
  static constexpr std::uint32_t kAlignment = 1024, kStatisticsBytes = 2 * kTile * sizeof(float);
  static constexpr int kBlocks = kOwnKeys ? 3 : 4;  // of a multiprocessor, as many as registers allow
  static constexpr std::size_t kBytes =
      (2 + 2 * kStages) * SwizzledTile::kBytes + (kOwnKeys ? kStages * kStatisticsBytes : 0) + kAlignment;

  const AttentionShape& shape;
  const AttentionGradient<bf16>& at;
  std::uint32_t own;  // tiles: first vectors, second vectors, stages of the other side, statistics
  std::int64_t stride, dst_stride;
  int n, kv_head, first_head, first, of_sequence;
  int begin, end, turns;  // tiles of the other side, and those of all heads together
  // This thread begins to copy at this row of 16 and this place in it.
  int copied_row, copied_chunk;
  std::uint32_t copied_to;
  bool copies;

  __device__ WarpgroupWork(const AttentionShape& of, const AttentionGradient<bf16>& from, const void* memory)
      : shape(of),
        at(from),
        own((shared_address(memory) + kAlignment - 1) / kAlignment * kAlignment),
        stride(of.step_stride * of.width()),
        dst_stride(of.step_stride * of.dst_width()),
        copied_row(static_cast<int>(threadIdx.x) / SwizzledTile::kChunks),
        copied_chunk(static_cast<int>(threadIdx.x) % SwizzledTile::kChunks),
        copied_to(SwizzledTile::chunk(0, copied_row, copied_chunk)),
        copies(copied_chunk * 8 < of.head_size) {
    const TileOfBlock block(blockIdx.x, (shape.steps + kTile - 1) / kTile, shape.sequences,
                            kOwnKeys ? shape.kv_heads : shape.heads, shape.causal && !kOwnKeys);
    n = block.n;
    first = block.tile * kTile;
    of_sequence = keys_of_sequence(shape, n);
    kv_head = kOwnKeys ? block.head : shape.kv_head_of(block.head);
    const int group = shape.heads / shape.kv_heads;
    first_head = kOwnKeys ? kv_head * group : block.head;
    begin = kOwnKeys && shape.causal ? first / kTile : 0;
    const int steps = kOwnKeys ? (first < of_sequence ? shape.steps : 0)
                               : seen_by(shape, of_sequence, min(first + kTile, shape.steps) - 1);
    end = max((steps + kTile - 1) / kTile, begin);
    turns = (end - begin) * (kOwnKeys ? group : 1);
  }

  // The tile and the head of a turn.
  struct Turn {
    int head, tile;
  };
  __device__ Turn first_turn() const { return {first_head, begin}; }
  __device__ void advance(Turn& turn) const {
    if (++turn.tile < end) return;
    turn.tile = begin;
    ++turn.head;
  }

  __device__ std::uint32_t own_first() const { return own; }
  __device__ std::uint32_t own_second() const { return own + SwizzledTile::kBytes; }
  __device__ std::uint32_t other_first(int stage) const {
    return own + (2 + stage * 2) * SwizzledTile::kBytes;
  }
  __device__ std::uint32_t other_second(int stage) const {
    return own + (3 + stage * 2) * SwizzledTile::kBytes;
  }
  // log_sums of the queries of the other side, and behind them their deltas
  __device__ std::uint32_t statistics(int stage) const {
    return other_first(kStages) + stage * kStatisticsBytes;
  }

  // Starts to copy the vectors of 64 steps; what is missing is zero.
  __device__ void copy(const bf16* from, std::int64_t row_stride, int step, std::uint32_t to) const {
    constexpr int kRowsAtOnce = kWarpgroup / SwizzledTile::kChunks;
    static_assert(kRowsAtOnce % 8 == 0);  // the rows of a thread have their chunks at the same place
    const bf16* row = from + (step + copied_row) * row_stride + copied_chunk * 8;
#pragma unroll
    for (int i = 0; i < kTile; i += kRowsAtOnce) {
      copy_async_16(to + copied_to + i * SwizzledTile::kRowBytes, row,
                    copies && step + copied_row + i < shape.steps);
      row += kRowsAtOnce * row_stride;
    }
  }
  __device__ void copy_queries(int head, int step, std::uint32_t queries, std::uint32_t d_dst) const {
    copy(at.qkv + shape.query(n, head), stride, step, queries);
    copy(at.d_dst + shape.dst(n, head), dst_stride, step, d_dst);
  }
  __device__ void copy_keys(int step, std::uint32_t keys, std::uint32_t values) const {
    copy(at.qkv + shape.key(n, kv_head), stride, step, keys);
    copy(at.qkv + shape.value(n, kv_head), stride, step, values);
  }
  __device__ void copy_own() const {
    if constexpr (kOwnKeys)
      copy_keys(first, own_first(), own_second());
    else
      copy_queries(first_head, first, own_first(), own_second());
  }
  __device__ void copy_others(const Turn& turn, int stage) const {
    const int step = turn.tile * kTile;
    if constexpr (kOwnKeys) {
      copy_queries(turn.head, step, other_first(stage), other_second(stage));
      const int i = threadIdx.x, t = step + i % kTile;
      const float* from = (i < kTile ? at.log_sums : at.deltas) + shape.log_sum(n, turn.head);
      copy_async_4(statistics(stage) + i * sizeof(float), from + t, t < shape.steps);
    } else {
      copy_keys(step, other_first(stage), other_second(stage));
    }
  }

  // Calls take(step, stage) for each tile of the other side: its first step, and where it lies.
  template <typename Take>
  __device__ void for_turns(const Take& take) const {
    if (turns == 0) return;
    copy_own();
    Turn copied = first_turn(), taken = copied;
    copy_others(copied, 0);
    commit_copies();
    for (int turn = 0; turn < turns; ++turn) {
      wait_copies<0>();
      show_to_matrix_units();
      __syncthreads();  // all have copied this tile, and the products of the one before are done
      if (turn + 1 < turns) {
        advance(copied);
        copy_others(copied, (turn + 1) % kStages);
        commit_copies();
      }
      take(taken.tile * kTile, turn % kStages);
      advance(taken);
    }
  }
};

}  // namespace trainyard::backend::cuda::device
