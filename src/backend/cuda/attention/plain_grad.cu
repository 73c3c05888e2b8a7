#include "backend/cuda/attention/plain.cuh"

namespace trainyard::backend::cuda::device {

// With probabilities p, their factors k of the dropout, scores x and dst y = sum of p k v:
// d_v += p k d_y, d_x = p (k d_y v - d_y y), d_q += scale d_x key, d_key += scale d_x q

namespace {

// One kernel makes the gradients of queries, another those of keys and values: each block sums what belongs
// to its own rows, in one order. Of both sides a row has two vectors: (query, d_y) and (key, value).
template <typename T, int kParts, bool kOwnKeys>
struct PlainBackward {
  using Tile = PlainTile<kParts>;
  static constexpr int kRows = Tile::kRows;

  const AttentionShape& shape;
  const AttentionGradient<T>& at;
  int n, kv_head, first_head, end_head, first, of_sequence;
  std::int64_t stride, dst_stride;

  __device__ PlainBackward(const AttentionShape& of, const AttentionGradient<T>& from)
      : shape(of),
        at(from),
        stride(of.step_stride * of.width()),
        dst_stride(of.step_stride * of.dst_width()) {
    const TileOfBlock block(blockIdx.x, (shape.steps + Tile::kTile - 1) / Tile::kTile, shape.sequences,
                            kOwnKeys ? shape.kv_heads : shape.heads, shape.causal && !kOwnKeys);
    n = block.n;
    first = block.tile * Tile::kTile;
    of_sequence = keys_of_sequence(shape, n);
    const int of_group = shape.heads / shape.kv_heads;
    kv_head = kOwnKeys ? block.head : shape.kv_head_of(block.head);
    first_head = kOwnKeys ? kv_head * of_group : block.head;
    end_head = first_head + (kOwnKeys ? of_group : 1);
  }
  // Queries before the first key of the block do not see it where only earlier steps are seen.
  __device__ int begin() const {
    return kOwnKeys && shape.causal ? first / kColumnsAtOnce * kColumnsAtOnce : 0;
  }
  __device__ int end() const {
    return kOwnKeys ? (first < of_sequence ? shape.steps : 0)
                    : seen_by(shape, of_sequence, min(first + Tile::kTile, shape.steps) - 1);
  }
  __device__ void load_queries(int head, int step, int count, float* queries, float* d_dst) const {
    Tile::load(at.qkv + shape.query(n, head), stride, step, count, shape.steps, shape.head_size, queries);
    Tile::load(at.d_dst + shape.dst(n, head), dst_stride, step, count, shape.steps, shape.head_size, d_dst);
  }
  __device__ void load_keys(int step, int count, float* keys, float* values) const {
    Tile::load(at.qkv + shape.key(n, kv_head), stride, step, count, shape.steps, shape.head_size, keys);
    Tile::load(at.qkv + shape.value(n, kv_head), stride, step, count, shape.steps, shape.head_size, values);
  }

  // Takes the scores of one column and the rows of a warp, and the gradients of the kept probabilities.
  // Stores the gradients of the scores, and the kept probabilities where keys are the own rows.
  __device__ void differentiate(int head, int first_row, int column, const float (&scores)[kRows],
                                const float (&d_kept)[kRows], float* pairs, float* kept_pairs) const {
    const ProbabilityDropout dropout(shape, n, head);
    const std::int64_t of_head = shape.log_sum(n, head);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int row = first + first_row + r;
      const int t = kOwnKeys ? column : row, s = kOwnKeys ? row : column;
      float d_score = 0, kept_probability = 0;
      if (t < shape.steps && s < seen_by(shape, of_sequence, t)) {
        const float p = expf(scores[r] * shape.scale - at.log_sums[of_head + t]);
        const float kept = dropout.drops() ? dropout.kept(t, s) : 1.0f;
        d_score = p * (kept * d_kept[r] - at.deltas[of_head + t]);
        kept_probability = p * kept;
      }
      pairs[r * kPairStride + threadIdx.x % 32] = d_score;
      if constexpr (kOwnKeys) kept_pairs[r * kPairStride + threadIdx.x % 32] = kept_probability;
    }
  }

  template <int kSecond>
  __device__ void store(int first_row, const float (&d_first)[kRows][kParts],
                        const float (&d_second)[kSecond][kParts]) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int step = first + first_row + r;
      if (step >= shape.steps) continue;
      T* to = at.d_qkv + step * stride;
      if constexpr (kOwnKeys) {
        Tile::store(d_first[r], shape.scale, shape.head_size, to + shape.key(n, kv_head));
        Tile::store(d_second[r], 1.0f, shape.head_size, to + shape.value(n, kv_head));
      } else {
        Tile::store(d_first[r], shape.scale, shape.head_size, to + shape.query(n, first_head));
      }
    }
  }
};

template <typename T, int kParts, bool kOwnKeys>
__global__ void __launch_bounds__(kThreads) plain_backward(AttentionShape shape, AttentionGradient<T> at) {
  using Tile = PlainTile<kParts>;
  constexpr int kRows = Tile::kRows, kTile = Tile::kTile;
  extern __shared__ float4 memory[];
  float* own_first = reinterpret_cast<float*>(memory);
  float* own_second = own_first + kTile * Tile::kStride;
  float* other_first = own_second + kTile * Tile::kStride;
  float* other_second = other_first + kColumnsAtOnce * Tile::kStride;
  const int lane = threadIdx.x % 32, first_row = threadIdx.x / 32 * kRows;
  float* pairs = other_second + kColumnsAtOnce * Tile::kStride + first_row * kPairStride;
  float* kept_pairs = pairs + kTile * kPairStride;
  const PlainBackward<T, kParts, kOwnKeys> work(shape, at);
  if constexpr (kOwnKeys)
    work.load_keys(work.first, kTile, own_first, own_second);
  else
    work.load_queries(work.first_head, work.first, kTile, own_first, own_second);
  const int numbers = (shape.head_size + 3) / 4 * 4, end = work.end();
  float d_first[kRows][kParts] = {}, d_second[kOwnKeys ? kRows : 1][kParts] = {};
  for (int head = work.first_head; head < work.end_head; ++head)
    for (int first_column = work.begin(); first_column < end; first_column += kColumnsAtOnce) {
      __syncthreads();
      if constexpr (kOwnKeys)
        work.load_queries(head, first_column, kColumnsAtOnce, other_first, other_second);
      else
        work.load_keys(first_column, kColumnsAtOnce, other_first, other_second);
      __syncthreads();
      float scores[kRows], d_kept[kRows];
      Tile::multiply(own_first + first_row * Tile::kStride, other_first + lane * Tile::kStride, numbers,
                     scores);
      Tile::multiply(own_second + first_row * Tile::kStride, other_second + lane * Tile::kStride, numbers,
                     d_kept);
      work.differentiate(head, first_row, first_column + lane, scores, d_kept, pairs, kept_pairs);
      __syncwarp();
      Tile::add(pairs, other_first, d_first);
      if constexpr (kOwnKeys) Tile::add(kept_pairs, other_second, d_second);
    }
  work.store(first_row, d_first, d_second);
}

template <typename T, int kParts, bool kOwnKeys>
void start_backward(cudaStream_t stream, const AttentionShape& shape, const AttentionGradient<T>& at) {
  using Tile = PlainTile<kParts>;
  constexpr std::size_t kBytes =
      2 * Tile::tile_bytes() + 2 * Tile::columns_bytes() + (kOwnKeys ? 2 : 1) * Tile::pairs_bytes();
  allow_shared(plain_backward<T, kParts, kOwnKeys>, kBytes);
  const int blocks =
      tiles_of(shape.steps, Tile::kTile) * shape.sequences * (kOwnKeys ? shape.kv_heads : shape.heads);
  plain_backward<T, kParts, kOwnKeys><<<blocks, kThreads, kBytes, stream>>>(shape, at);
}

}  // namespace

template <typename T>
void attention_plain_grad(cudaStream_t stream, const AttentionShape& shape, const AttentionGradient<T>& at) {
  if (shape.sequences == 0 || shape.head_size == 0) return;
  attention_deltas(stream, shape, at);
  with_parts(shape.head_size, [&]<int kParts>() {
    start_backward<T, kParts, true>(stream, shape, at);
    start_backward<T, kParts, false>(stream, shape, at);
  });
  check_launch("attention_plain_grad");
}

template void attention_plain_grad(cudaStream_t, const AttentionShape&, const AttentionGradient<float>&);
template void attention_plain_grad(cudaStream_t, const AttentionShape&, const AttentionGradient<bf16>&);

}  // namespace trainyard::backend::cuda::device
