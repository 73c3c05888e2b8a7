#pragma once

#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/lane_sums.h"
#include "backend/onednn/runtime/row_product.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "ops/sequence/attention.h"

// Attention by tiles of queries and keys: no more of the scores than one tile lies in memory at once. Each
// thread takes whole heads, whose vectors it copies to rows of its own first: rows of qkv lie so far apart
// that they would compete for the same sets of the cache. Scores that a causal query does not see are left
// out by bands of kBand queries, and a row is worked on in whole lanes: those behind its last key become 0.
namespace trainyard::backend::onednn {

inline constexpr std::int64_t kBand = kLanes;  // queries whose scores are one product
inline constexpr std::int64_t kWide = 128;     // keys of a tile in the forward pass, which has one such tile
inline constexpr std::int64_t kTile = 64;  // queries, and keys, of a tile in the backward pass, which has two
inline constexpr std::int64_t kApart =
    kLanes;  // more floats in a row, so that rows do not share sets of the cache
inline constexpr std::int64_t kMostAhead =
    131072;  // floats that are fetched ahead: half of a second-level cache

inline std::int64_t tiles_of(std::int64_t steps, std::int64_t size) { return (steps + size - 1) / size; }

// An AttentionTile is some steps of a sequence.
struct AttentionTile {
  std::int64_t first, count;
};
inline AttentionTile tile_of(std::int64_t i, std::int64_t steps, std::int64_t size) {
  return {i * size, std::min(size, steps - i * size)};
}

// An AttentionItem is the work of one thread: the heads that share keys and values, of one sequence.
struct AttentionItem {
  std::int64_t n, kv;
};

// Fetches a vector that is soon read, or written. Vectors of a head lie a page apart from each other in most
// tensors: caches do not foresee them, and a thread would wait for each, longer than it computes.
inline void fetch(const float* vector, std::int64_t head) {
  for (std::int64_t i = 0; i < head; i += kLanes) __builtin_prefetch(vector + i, 0, 2);
}
inline void fetch_to_write(const float* vector, std::int64_t head) {
  for (std::int64_t i = 0; i < head; i += kLanes) __builtin_prefetch(vector + i, 1, 2);
}

// AttentionProblem holds what all heads share.
class AttentionProblem {
 public:
  AttentionProblem(const Arguments& arguments, int qkv, int lengths)
      : attrs(arguments.node.attrs<ops::AttentionAttrs>()),
        width(arguments.node.input_shape(qkv)[1]),
        head(attrs.head_size(width)),
        steps(attrs.rows.steps),
        batch(attrs.rows.sequences(arguments.node.input_shape(qkv)[0])),
        group(attrs.heads / attrs.kv_heads),
        scale(static_cast<float>(attrs.scale(head))),
        rows_(arguments.node.input_shape(qkv)[0]),
        lengths_(arguments.node.inputs() > lengths ? arguments.input<std::int32_t>(lengths) : nullptr),
        random_(arguments.context.seed,
                mix_streams(static_cast<std::uint64_t>(arguments.context.step), attrs.dropout.stream)) {}

  std::int64_t row(std::int64_t n, std::int64_t t) const { return attrs.rows.row(n, t, rows_); }
  std::int64_t row_stride() const { return attrs.rows.stride(rows_); }
  // Columns of qkv.
  std::int64_t query(std::int64_t h) const { return h * head; }
  std::int64_t key(std::int64_t kv) const { return (attrs.heads + kv) * head; }
  std::int64_t value(std::int64_t kv) const { return (attrs.heads + attrs.kv_heads + kv) * head; }
  // Returns the number of keys of sequence n that are not padding.
  std::int64_t keys(std::int64_t n) const {
    return lengths_ == nullptr ? steps : std::clamp<std::int64_t>(lengths_[n], 0, steps);
  }
  // Returns the number of the first keys that step t sees, of so many.
  std::int64_t seen(std::int64_t t, std::int64_t keys) const {
    return attrs.causal ? std::min(t + 1, keys) : keys;
  }
  // Writes the factors of the probabilities of query t of head `nh` (counted through all sequences): 0 where
  // one is dropped.
  void dropout_factors(std::int64_t nh, std::int64_t t, const AttentionTile& keys, float* to) const {
    const auto rate = static_cast<float>(attrs.dropout.rate);
    const float kept = 1 / (1 - rate);
    for (std::int64_t s = 0; s < keys.count; ++s)
      to[s] = to_unit_float(
                  random_.word(static_cast<std::uint64_t>((nh * steps + t) * steps + keys.first + s))) >= rate
                  ? kept
                  : 0.0f;
  }
  bool drops() const { return attrs.dropout.rate > 0; }

  // Fetches what head h of sequence n reads of qkv for step t.
  void fetch_qkv(const float* qkv, std::int64_t n, std::int64_t h, std::int64_t t) const {
    const float* at = qkv + row(n, t) * width;
    fetch(at + query(h), head);
    if (h % group != 0) return;
    fetch(at + key(h / group), head);
    fetch(at + value(h / group), head);
  }
  // Is what one item reads small enough for the cache?
  bool fetches_ahead() const { return steps * head * (3 * group + 2) <= kMostAhead; }

  const ops::AttentionAttrs& attrs;
  const std::int64_t width, head, steps, batch, group;
  const float scale;

 private:
  std::int64_t rows_;
  const std::int32_t* lengths_;
  Philox random_;
};

// Copies the vectors of steps into rows that follow each other, multiplied by a factor.
inline void gather(const float* from, std::int64_t stride, std::int64_t steps, std::int64_t head,
                   float factor, float* to) {
  for (std::int64_t t = 0; t < steps; ++t)
#pragma omp simd
    for (std::int64_t i = 0; i < head; ++i) to[t * head + i] = factor * from[t * stride + i];
}

inline void scatter(const float* from, std::int64_t steps, std::int64_t head, std::int64_t stride,
                    float* to) {
  for (std::int64_t t = 0; t < steps; ++t) std::copy_n(from + t * head, head, to + t * stride);
}

// Writes each tile of so many rows as its transpose (head, size + kApart), one tile behind the other.
inline void transpose_tiles(const float* rows, std::int64_t steps, std::int64_t head, std::int64_t size,
                            float* to) {
  for (std::int64_t tile = 0; tile < tiles_of(steps, size); ++tile, to += head * (size + kApart)) {
    const auto [first, count] = tile_of(tile, steps, size);
    transpose(rows + first * head, head, count, head, to, size + kApart);
  }
}

// Pass computes items of a problem, each with so much scratch memory as its thread has.
template <typename Pass, typename Scratch>
void run_attention(const Arguments& arguments) {
  const Pass pass(arguments);
  const AttentionProblem& problem = pass.problem();
  const std::int64_t kv_heads = problem.attrs.kv_heads,
                     floats = (Scratch::floats(problem.steps, problem.head) + 15) / 16 * 16;
  auto* workspace = reinterpret_cast<float*>(arguments.memory.workspace);
  const std::int64_t items = problem.batch * kv_heads, threads = thread_count();
  const auto item_of = [kv_heads](std::int64_t i) { return AttentionItem{i / kv_heads, i % kv_heads}; };
  parallel_items(items, [&](std::int64_t i, int thread) {
    const AttentionItem next = item_of(i + threads);
    pass.run(item_of(i), i + threads < items && problem.fetches_ahead() ? &next : nullptr,
             workspace + thread * floats);
  });
}

template <typename Pass, typename Scratch>
std::unique_ptr<Kernel> make_attention(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::AttentionAttrs>();
  const int qkv = request.node.inputs() > 2 ? 1 : 0;
  const std::int64_t head = attrs.head_size(request.node.input_shape(qkv)[1]);
  KernelIo io = plain_io(request.node);
  // A head reads its columns of qkv, all of them, before it writes their gradients.
  if (qkv == 1) io.in_place = {{0, 1}};
  Workspace workspace;
  for (int thread = 0; thread < thread_count(); ++thread)
    workspace.add_floats((Scratch::floats(attrs.rows.steps, head) + 15) / 16 * 16);
  io.workspace_bytes = workspace.bytes();
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_attention<Pass, Scratch>);
}

inline Decision accept_attention(const KernelRequest& request) {
  if (request.node.attrs<ops::AttentionAttrs>().column_sums) return Decision::no("sums no columns");
  return wants_f32(request.node);
}

}  // namespace trainyard::backend::onednn
