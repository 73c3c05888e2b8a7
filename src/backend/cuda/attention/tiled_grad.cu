#include "backend/cuda/attention/tiled.cuh"

namespace trainyard::backend::cuda::device {

// The formulas are those of plain_grad.cu.

namespace {

// More rows of a warp read the same columns: fewer loads of shared memory for a product. The gradients of
// large keys and values leave no registers for them.
template <typename T, int kSize, bool kOwnKeys>
struct BackwardTile {
  static constexpr int kHeight = kSize <= 64 || !kOwnKeys ? 2 : 1;
  static constexpr int kRows = kTiledWarps * 16 * kHeight;
  static constexpr int kColumns = 32;
  static constexpr std::size_t kVectorBytes = TiledVectors<T, kSize>::bytes(2 * kRows + 4 * kColumns);
  static constexpr std::size_t kBytes = kVectorBytes + (kOwnKeys ? 4 * kColumns * sizeof(float) : 0);
};

// One kernel makes the gradients of queries, another those of keys and values: each block sums what belongs
// to its own rows, in one order. Of both sides a row has two vectors: (query, d_y) and (key, value).
template <typename T, int kSize, bool kOwnKeys>
struct Backward {
  using Sizes = BackwardTile<T, kSize, kOwnKeys>;
  using Tile = TiledVectors<T, kSize>;
  static constexpr int kHeight = Sizes::kHeight, kRows = Sizes::kRows, kColumns = Sizes::kColumns;

  const AttentionShape& shape;
  const AttentionGradient<T>& at;
  std::uint32_t own_first, own_second, others, statistics;
  int n, kv_head, first_head, first, of_sequence;
  std::int64_t stride, dst_stride;

  __device__ Backward(const AttentionShape& of, const AttentionGradient<T>& from, std::uint32_t memory,
                      unsigned number)
      : shape(of),
        at(from),
        own_first(memory),
        own_second(own_first + Tile::bytes(kRows)),
        others(own_second + Tile::bytes(kRows)),
        statistics(memory + static_cast<std::uint32_t>(Sizes::kVectorBytes)),
        stride(shape.step_stride * shape.width()),
        dst_stride(shape.step_stride * shape.dst_width()) {
    const TileOfBlock block(number, (shape.steps + kRows - 1) / kRows, shape.sequences,
                            kOwnKeys ? shape.kv_heads : shape.heads, shape.causal && !kOwnKeys);
    n = block.n;
    first = block.tile * kRows;
    of_sequence = keys_of_sequence(shape, n);
    kv_head = kOwnKeys ? block.head : shape.kv_head_of(block.head);
    first_head = kOwnKeys ? kv_head * (shape.heads / shape.kv_heads) : block.head;
  }

  template <int kCount>
  __device__ void copy_queries(int head, int from_step, std::uint32_t queries, std::uint32_t d_dst) const {
    Tile::template copy<kCount>(at.qkv + shape.query(n, head), stride, from_step, shape.steps,
                                shape.head_size, queries);
    Tile::template copy<kCount>(at.d_dst + shape.dst(n, head), dst_stride, from_step, shape.steps,
                                shape.head_size, d_dst);
  }
  template <int kCount>
  __device__ void copy_keys(int from_step, std::uint32_t keys, std::uint32_t values) const {
    Tile::template copy<kCount>(at.qkv + shape.key(n, kv_head), stride, from_step, shape.steps,
                                shape.head_size, keys);
    Tile::template copy<kCount>(at.qkv + shape.value(n, kv_head), stride, from_step, shape.steps,
                                shape.head_size, values);
  }
  __device__ void copy_own() const {
    if constexpr (kOwnKeys)
      copy_keys<kRows>(first, own_first, own_second);
    else
      copy_queries<kRows>(first_head, first, own_first, own_second);
  }

  // Stores one row of this thread; d_second is not used where queries are the own rows.
  template <int kSecond>
  __device__ void store(int step, int half, const float (&d_first)[kSize / 8][4],
                        const float (&d_second)[kSecond][4]) const {
    if (step >= shape.steps) return;
    T* to = at.d_qkv + step * stride;
    if constexpr (kOwnKeys) {
      Tile::store(d_first, half, shape.scale, shape.head_size, to + shape.key(n, kv_head));
      Tile::store(d_second, half, 1.0f, shape.head_size, to + shape.value(n, kv_head));
    } else {
      Tile::store(d_first, half, shape.scale, shape.head_size, to + shape.query(n, first_head));
    }
  }

  __device__ std::uint32_t stage_first(int turn) const {
    return others + Tile::bytes(turn % 2 * 2 * kColumns);
  }
  __device__ std::uint32_t stage_second(int turn) const { return stage_first(turn) + Tile::bytes(kColumns); }
  // log_sums of the columns, and behind them their deltas
  __device__ std::uint32_t stage_statistics(int turn) const {
    return statistics + static_cast<std::uint32_t>(turn % 2 * 2 * kColumns) * sizeof(float);
  }
  __device__ void copy_others(int turn, int head, int from_step) const {
    if constexpr (kOwnKeys) {
      copy_queries<kColumns>(head, from_step, stage_first(turn), stage_second(turn));
      const int i = threadIdx.x, t = from_step + i % kColumns;
      if (i >= 2 * kColumns) return;
      const float* from = (i < kColumns ? at.log_sums : at.deltas) + shape.log_sum(n, head);
      copy_async_4(stage_statistics(turn) + i * sizeof(float), t < shape.steps ? from + t : from,
                   t < shape.steps);
    } else {
      copy_keys<kColumns>(from_step, stage_first(turn), stage_second(turn));
    }
  }
};

__device__ inline void load_two_floats(std::uint32_t address, float (&to)[2]) {
  to[0] = __uint_as_float(load_word(address));
  to[1] = __uint_as_float(load_word(address + sizeof(float)));
}

// The logarithms of the sums and the deltas of the queries of this thread, where queries are the own rows.
template <int kHeight>
struct RowStatistics {
  float log_sums[kHeight][2], deltas[kHeight][2];

  template <typename T>
  __device__ RowStatistics(const AttentionShape& shape, const AttentionGradient<T>& at, int n, int head,
                           int t) {
#pragma unroll
    for (int m = 0; m < kHeight; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = t + m * 16 + half * 8;
        const std::int64_t from = shape.log_sum(n, head) + min(row, shape.steps - 1);
        log_sums[m][half] = at.log_sums[from] * kLog2OfE;
        deltas[m][half] = at.deltas[from];
      }
  }
};

// PairPlaces says where the pairs of a thread stand: its first row and column.
struct PairPlaces {
  int row, column, of_sequence;
};

// Takes out the pairs that do not count: their probabilities become zero.
template <bool kOwnKeys, int kHeight, int kColumns>
__device__ inline void mask(const AttentionShape& shape, const PairPlaces& places,
                            Products<kHeight, kColumns>& pairs) {
#pragma unroll
  for (int m = 0; m < kHeight; ++m)
#pragma unroll
    for (int k = 0; k < kColumns / 8; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int own = places.row + m * 16 + i / 2 * 8, other = places.column + k * 8 + i % 2;
        const int t = kOwnKeys ? other : own, s = kOwnKeys ? own : other;
        if (t >= shape.steps || s >= seen_by(shape, places.of_sequence, t)) pairs[m][k][i] = -INFINITY;
      }
}

// Makes of the scores and of the gradients of kept probabilities, in place: the gradients of scores, and the
// kept probabilities.
template <bool kOwnKeys, int kHeight, int kColumns>
__device__ inline void differentiate(const AttentionShape& shape, const ProbabilityDropout& dropout,
                                     const PairPlaces& places, const RowStatistics<kHeight>& rows,
                                     std::uint32_t column_statistics, Products<kHeight, kColumns>& pairs,
                                     Products<kHeight, kColumns>& kept_pairs) {
#pragma unroll
  for (int k = 0; k < kColumns / 8; ++k) {
    float column_log_sums[2]{}, column_deltas[2]{};
    if constexpr (kOwnKeys) {
      const std::uint32_t from = column_statistics + (k * 8 + threadIdx.x % 4 * 2) * sizeof(float);
      load_two_floats(from, column_log_sums);
      load_two_floats(from + kColumns * sizeof(float), column_deltas);
      column_log_sums[0] *= kLog2OfE;
      column_log_sums[1] *= kLog2OfE;
    }
#pragma unroll
    for (int m = 0; m < kHeight; ++m) {
      float kept[2][2] = {{1, 1}, {1, 1}};
      const int row = places.row + m * 16, column = places.column + k * 8;
      if (dropout.drops()) {
        if constexpr (kOwnKeys)
          dropout.kept_of_keys(column, row, kept);
        else
          dropout.kept_of_queries(row, column, kept);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& pair = pairs[m][k][half * 2 + i];
          float& kept_pair = kept_pairs[m][k][half * 2 + i];
          const float log_sum = kOwnKeys ? column_log_sums[i] : rows.log_sums[m][half];
          const float delta = kOwnKeys ? column_deltas[i] : rows.deltas[m][half];
          const float p = power_of_two(pair * (shape.scale * kLog2OfE) - log_sum);
          pair = p * (kept[half][i] * kept_pair - delta);
          kept_pair = p * kept[half][i];
        }
    }
  }
}

// OtherTiles says where the tiles of the other side begin, and how many there are of one head.
template <int kRows, int kColumns, bool kOwnKeys>
struct OtherTiles {
  int begin, of_head;

  __device__ OtherTiles(const AttentionShape& shape, int of_sequence, int first) {
    // Queries before the first key of the block do not see it where only earlier steps are seen.
    begin = kOwnKeys && shape.causal ? first / kColumns : 0;
    const int end = kOwnKeys ? (first < of_sequence ? shape.steps : 0)
                             : seen_by(shape, of_sequence, min(first + kRows, shape.steps) - 1);
    of_head = max((end + kColumns - 1) / kColumns - begin, 0);
  }
};

// `number` counts the blocks that have rows of this side.
template <typename T, int kSize, bool kOwnKeys>
__device__ inline void go_through(const AttentionShape& shape, const AttentionGradient<T>& at,
                                  std::uint32_t memory, unsigned number) {
  using Work = Backward<T, kSize, kOwnKeys>;
  using Tile = TiledVectors<T, kSize>;
  constexpr int kHeight = Work::kHeight, kColumns = Work::kColumns;
  const Work work(shape, at, memory, number);
  const OtherTiles<Work::kRows, kColumns, kOwnKeys> others(shape, work.of_sequence, work.first);
  const int turns = others.of_head * (kOwnKeys ? shape.heads / shape.kv_heads : 1);
  const auto copy_turn = [&](int turn) {
    work.copy_others(turn, work.first_head + turn / others.of_head,
                     (others.begin + turn % others.of_head) * kColumns);
  };
  if (turns > 0) {
    work.copy_own();
    copy_turn(0);
  }
  commit_copies();
  const int lane = threadIdx.x % 32, first_row = threadIdx.x / 32 * 16 * kHeight;  // of the warp
  const int first = work.first + first_row;
  // Keys have none: what is read is not used.
  const RowStatistics<kHeight> rows(shape, at, work.n, work.first_head, first + lane / 4);
  Products<kHeight, kSize> d_first = {};
  Products<kHeight, kOwnKeys ? kSize : 8> d_second = {};
  for (int turn = 0; turn < turns; ++turn) {
    wait_copies<0>();
    __syncthreads();  // all have copied this tile, and none reads the one before
    if (turn + 1 < turns) copy_turn(turn + 1);
    commit_copies();
    const int column = (others.begin + turn % others.of_head) * kColumns;
    const int first_t = kOwnKeys ? column : first,
              last_t = first_t + (kOwnKeys ? kColumns : 16 * kHeight) - 1;
    const int first_s = kOwnKeys ? first : column,
              last_s = first_s + (kOwnKeys ? 16 * kHeight : kColumns) - 1;
    // Tiles none of whose pairs count are for other warps.
    if (first_t >= shape.steps || first_s >= seen_by(shape, work.of_sequence, min(last_t, shape.steps - 1)))
      continue;
    Products<kHeight, kColumns> pairs, kept_pairs;
    Tile::template multiply<kHeight, kColumns>(work.own_first, first_row, work.stage_first(turn), pairs);
    Tile::template multiply<kHeight, kColumns>(work.own_second, first_row, work.stage_second(turn),
                                               kept_pairs);
    const PairPlaces places{first + lane / 4, column + lane % 4 * 2, work.of_sequence};
    if (last_t >= shape.steps || last_s >= seen_by(shape, work.of_sequence, first_t))
      mask<kOwnKeys, kHeight, kColumns>(shape, places, pairs);
    const ProbabilityDropout dropout(shape, work.n, work.first_head + turn / others.of_head);
    differentiate<kOwnKeys, kHeight, kColumns>(shape, dropout, places, rows, work.stage_statistics(turn),
                                               pairs, kept_pairs);
    Tile::template add<kHeight, kColumns>(pairs, work.stage_first(turn), d_first);
    if constexpr (kOwnKeys)
      Tile::template add<kHeight, kColumns>(kept_pairs, work.stage_second(turn), d_second);
  }
#pragma unroll
  for (int m = 0; m < kHeight; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      work.store(first + m * 16 + half * 8 + lane / 4, half, d_first[m], d_second[m]);
}

// One launch does both, so that the last blocks of keys leave no multiprocessor idle.
template <typename T, int kSize>
__global__ void __launch_bounds__(kTiledThreads)
    tiled_backward(const __grid_constant__ AttentionShape shape,
                   const __grid_constant__ AttentionGradient<T> at, unsigned of_keys) {
  extern __shared__ uint4 memory[];
  if (blockIdx.x < of_keys)
    go_through<T, kSize, true>(shape, at, shared_address(memory), blockIdx.x);
  else
    go_through<T, kSize, false>(shape, at, shared_address(memory), blockIdx.x - of_keys);
}

template <typename T, int kSize, bool kOwnKeys>
std::int64_t backward_blocks(const AttentionShape& shape) {
  constexpr int kRows = BackwardTile<T, kSize, kOwnKeys>::kRows;
  const std::int64_t tiles = (shape.steps + kRows - 1) / kRows;
  return tiles * shape.sequences * (kOwnKeys ? shape.kv_heads : shape.heads);
}

}  // namespace

template <typename T>
void attention_tiled_grad(cudaStream_t stream, const AttentionShape& shape, const AttentionGradient<T>& at) {
  if (shape.sequences == 0) return;
  attention_deltas(stream, shape, at);
  with_tiled_size(shape.head_size, [&]<int kSize>() {
    constexpr std::size_t kBytes =
        std::max(BackwardTile<T, kSize, true>::kBytes, BackwardTile<T, kSize, false>::kBytes);
    const std::int64_t of_keys = backward_blocks<T, kSize, true>(shape);
    start_tiled(stream, tiled_backward<T, kSize>, of_keys + backward_blocks<T, kSize, false>(shape), kBytes,
                shape, at, static_cast<unsigned>(of_keys));
  });
  check_launch("attention_tiled_grad");
}

template void attention_tiled_grad(cudaStream_t, const AttentionShape&, const AttentionGradient<float>&);
template void attention_tiled_grad(cudaStream_t, const AttentionShape&, const AttentionGradient<bf16>&);

}  // namespace trainyard::backend::cuda::device
