#include "backend/cuda/attention/plain.cuh"

namespace trainyard::backend::cuda::device {

namespace {

// The rows of a block are queries. The highest score of a row and the sum of exponentials below it grow as
// the block goes through the keys, and what was summed before is scaled to the new highest score.
template <typename T, int kParts>
__global__ void __launch_bounds__(kThreads)
    plain_forward(AttentionShape shape, const T* qkv, T* dst, float* log_sums) {
  using Tile = PlainTile<kParts>;
  constexpr int kRows = Tile::kRows, kTile = Tile::kTile;
  extern __shared__ float4 memory[];
  float* queries = reinterpret_cast<float*>(memory);
  float* keys = queries + kTile * Tile::kStride;
  float* values = keys + kColumnsAtOnce * Tile::kStride;
  const int lane = threadIdx.x % 32, first_row = threadIdx.x / 32 * kRows;
  float* pairs = values + kColumnsAtOnce * Tile::kStride + first_row * kPairStride;
  const TileOfBlock block(blockIdx.x, (shape.steps + kTile - 1) / kTile, shape.sequences, shape.heads,
                          shape.causal);
  const int n = block.n, head = block.head, kv_head = shape.kv_head_of(head);
  const int first = block.tile * kTile, of_sequence = keys_of_sequence(shape, n);
  const std::int64_t stride = shape.step_stride * shape.width();
  const ProbabilityDropout dropout(shape, n, head);
  Tile::load(qkv + shape.query(n, head), stride, first, kTile, shape.steps, shape.head_size, queries);
  float highest[kRows], sums[kRows] = {}, made[kRows][kParts] = {};
#pragma unroll
  for (int r = 0; r < kRows; ++r) highest[r] = -INFINITY;
  const int numbers = (shape.head_size + 3) / 4 * 4;
  const int end = seen_by(shape, of_sequence, min(first + kTile, shape.steps) - 1);
  for (int first_key = 0; first_key < end; first_key += kColumnsAtOnce) {
    __syncthreads();
    Tile::load(qkv + shape.key(n, kv_head), stride, first_key, kColumnsAtOnce, shape.steps, shape.head_size,
               keys);
    Tile::load(qkv + shape.value(n, kv_head), stride, first_key, kColumnsAtOnce, shape.steps, shape.head_size,
               values);
    __syncthreads();
    float scores[kRows];
    Tile::multiply(queries + first_row * Tile::kStride, keys + lane * Tile::kStride, numbers, scores);
    const int s = first_key + lane;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int t = first + first_row + r;
      const float score = s < seen_by(shape, of_sequence, t) ? scores[r] * shape.scale : -INFINITY;
      const float now = fmaxf(highest[r], warp_max(score));
      // A row that has seen no key yet has no highest score to subtract.
      const float base = now == -INFINITY ? 0.0f : now;
      float probability = expf(score - base);
      const float before = expf(highest[r] - base);
      highest[r] = now;
      sums[r] = sums[r] * before + probability;
      if (dropout.drops() && probability > 0) probability *= dropout.kept(t, s);
      pairs[r * kPairStride + lane] = probability;
#pragma unroll
      for (int part = 0; part < kParts; ++part) made[r][part] *= before;
    }
    __syncwarp();
    Tile::add(pairs, values, made);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int t = first + first_row + r;
    if (t >= shape.steps) continue;
    const float sum = warp_sum(sums[r]);
    Tile::store(made[r], sum == 0 ? 0.0f : 1 / sum, shape.head_size,
                dst + shape.dst(n, head) + t * shape.step_stride * shape.dst_width());
    if (lane == 0) log_sums[shape.log_sum(n, head) + t] = sum == 0 ? 0.0f : highest[r] + logf(sum);
  }
}

}  // namespace

template <typename T>
void attention_plain(cudaStream_t stream, const AttentionShape& shape, const T* qkv, T* dst,
                     float* log_sums) {
  if (shape.sequences == 0 || shape.head_size == 0) return;
  with_parts(shape.head_size, [&]<int kParts>() {
    using Tile = PlainTile<kParts>;
    constexpr std::size_t kBytes = Tile::tile_bytes() + 2 * Tile::columns_bytes() + Tile::pairs_bytes();
    allow_shared(plain_forward<T, kParts>, kBytes);
    const int blocks = tiles_of(shape.steps, Tile::kTile) * shape.sequences * shape.heads;
    plain_forward<T, kParts><<<blocks, kThreads, kBytes, stream>>>(shape, qkv, dst, log_sums);
  });
  check_launch("attention_plain");
}

template void attention_plain(cudaStream_t, const AttentionShape&, const float*, float*, float*);
template void attention_plain(cudaStream_t, const AttentionShape&, const bf16*, bf16*, float*);

namespace {

constexpr int kDeltaLanes = 8;  // of a query

template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads) sum_deltas(AttentionShape shape, AttentionGradient<T> at) {
  const std::int64_t query = static_cast<std::int64_t>(thread_index() / kDeltaLanes);
  const int lane = threadIdx.x % kDeltaLanes, t = static_cast<int>(query % shape.steps);
  const std::int64_t heads = query / shape.steps;
  const bool there = heads < static_cast<std::int64_t>(shape.sequences) * shape.heads;
  const int n = there ? static_cast<int>(heads / shape.heads) : 0,
            head = static_cast<int>(heads % shape.heads);
  const std::int64_t first = shape.dst(n, head) + t * shape.step_stride * shape.dst_width();
  float sum = 0;
  for (int d = lane * kWidth; there && d < shape.head_size; d += kDeltaLanes * kWidth) {
    const auto y = *reinterpret_cast<const Vector<T, kWidth>*>(at.dst + first + d);
    const auto d_y = *reinterpret_cast<const Vector<T, kWidth>*>(at.d_dst + first + d);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum += to_float(y.at[i]) * to_float(d_y.at[i]);
  }
#pragma unroll
  for (int offset = kDeltaLanes / 2; offset > 0; offset /= 2)
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
  if (there && lane == 0) at.deltas[query] = sum;
}

}  // namespace

template <typename T>
void attention_deltas(cudaStream_t stream, const AttentionShape& shape, const AttentionGradient<T>& at) {
  constexpr int kWide = 16 / sizeof(T);
  const std::int64_t threads =
      static_cast<std::int64_t>(shape.sequences) * shape.heads * shape.steps * kDeltaLanes;
  if (threads == 0) return;
  const auto blocks = static_cast<int>((threads + kThreads - 1) / kThreads);
  if (shape.head_size % kWide == 0)
    sum_deltas<T, kWide><<<blocks, kThreads, 0, stream>>>(shape, at);
  else
    sum_deltas<T, 1><<<blocks, kThreads, 0, stream>>>(shape, at);
  check_launch("attention_deltas");
}

template void attention_deltas(cudaStream_t, const AttentionShape&, const AttentionGradient<float>&);
template void attention_deltas(cudaStream_t, const AttentionShape&, const AttentionGradient<bf16>&);

}  // namespace trainyard::backend::cuda::device
