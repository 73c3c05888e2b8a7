// Attention by tiles of queries and keys: no more of the scores than one tile lies in memory at once. Each
// thread takes whole heads, whose vectors it copies to rows of its own first: rows of qkv lie so far apart
// that they would compete for the same sets of the cache.

#include "ops/sequence/attention.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/lane_sums.h"
#include "backend/onednn/runtime/row_product.h"
#include "backend/onednn/runtime/vector_math.h"
#include "base/parallel.h"
#include "base/philox.h"

namespace trainyard::backend::onednn {
namespace {

constexpr std::int64_t kTile = 64;  // queries, and keys

std::int64_t tiles_of(std::int64_t steps) { return (steps + kTile - 1) / kTile; }

// A Tile is some steps of a sequence.
struct Tile {
  std::int64_t first, count;
};
Tile tile_of(std::int64_t i, std::int64_t steps) { return {i * kTile, std::min(kTile, steps - i * kTile)}; }

// Problem holds what all heads share.
class Problem {
 public:
  Problem(const Arguments& arguments, int qkv, int lengths)
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
  void dropout_factors(std::int64_t nh, std::int64_t t, const Tile& keys, float* to) const {
    const auto rate = static_cast<float>(attrs.dropout.rate);
    const float kept = 1 / (1 - rate);
    for (std::int64_t s = 0; s < keys.count; ++s)
      to[s] = to_unit_float(
                  random_.word(static_cast<std::uint64_t>((nh * steps + t) * steps + keys.first + s))) >= rate
                  ? kept
                  : 0.0f;
  }
  bool drops() const { return attrs.dropout.rate > 0; }

  const ops::AttentionAttrs& attrs;
  const std::int64_t width, head, steps, batch, group;
  const float scale;

 private:
  std::int64_t rows_;
  const std::int32_t* lengths_;
  Philox random_;
};

// Copies the vectors of steps into rows that follow each other, multiplied by a factor.
void gather(const float* from, std::int64_t stride, std::int64_t steps, std::int64_t head, float factor,
            float* to) {
  for (std::int64_t t = 0; t < steps; ++t)
#pragma omp simd
    for (std::int64_t i = 0; i < head; ++i) to[t * head + i] = factor * from[t * stride + i];
}

void scatter(const float* from, std::int64_t steps, std::int64_t head, std::int64_t stride, float* to) {
  for (std::int64_t t = 0; t < steps; ++t) std::copy_n(from + t * head, head, to + t * stride);
}

// Writes each tile of rows as its transpose (head, kTile), one tile behind the other.
void transpose_tiles(const float* rows, std::int64_t steps, std::int64_t head, float* to) {
  for (std::int64_t tile = 0; tile < tiles_of(steps); ++tile, to += head * kTile) {
    const auto [first, count] = tile_of(tile, steps);
    for (std::int64_t t = 0; t < count; ++t)
      for (std::int64_t i = 0; i < head; ++i) to[i * kTile + t] = rows[(first + t) * head + i];
  }
}

// x = exp(x - shift); returns the sum.
float exponentials(float* x, std::int64_t count, float shift) {
  return sum_in_lanes(count, [=](std::int64_t k) { return x[k] = vector_exp(x[k] - shift); });
}

// The parts of one thread's workspace in the forward pass.
struct ForwardScratch {
  float *keys, *values, *queries, *sums, *scores;

  ForwardScratch(const Problem& problem, float* at) {
    const std::int64_t all = tiles_of(problem.steps) * kTile * problem.head;
    keys = at;
    values = keys + all;
    queries = values + all;
    sums = queries + kTile * problem.head;
    scores = sums + kTile * problem.head;
  }
  static std::int64_t floats(std::int64_t steps, std::int64_t head) {
    return 2 * tiles_of(steps) * kTile * head + 2 * kTile * head + kTile * kTile;
  }
};

class Forward {
 public:
  explicit Forward(const Arguments& arguments)
      : problem_(arguments, 0, 1),
        qkv_(arguments.input<float>(0)),
        dst_(arguments.output<float>(0)),
        log_sums_(arguments.output<float>(1)) {}

  const Problem& problem() const { return problem_; }

  // Heads that share keys and values, of sequence n.
  void run(std::int64_t n, std::int64_t kv, float* workspace) const {
    const ForwardScratch scratch(problem_, workspace);
    const std::int64_t head = problem_.head, stride = problem_.row_stride() * problem_.width,
                       keys = problem_.keys(n);
    const float* first = qkv_ + problem_.row(n, 0) * problem_.width;
    gather(first + problem_.key(kv), stride, keys, head, 1, scratch.values);  // for a moment
    transpose_tiles(scratch.values, keys, head, scratch.keys);
    gather(first + problem_.value(kv), stride, keys, head, 1, scratch.values);
    for (std::int64_t h = kv * problem_.group; h < (kv + 1) * problem_.group; ++h)
      for (std::int64_t tile = 0; tile < tiles_of(problem_.steps); ++tile)
        run_tile(n, h, tile_of(tile, problem_.steps), keys, scratch);
  }

 private:
  void run_tile(std::int64_t n, std::int64_t h, const Tile& queries, std::int64_t keys,
                const ForwardScratch& scratch) const {
    const std::int64_t head = problem_.head, stride = problem_.row_stride();
    const std::int64_t row = problem_.row(n, queries.first), nh = n * problem_.attrs.heads + h;
    gather(qkv_ + row * problem_.width + problem_.query(h), stride * problem_.width, queries.count, head,
           problem_.scale, scratch.queries);
    float highest[kTile], sum[kTile];
    std::fill_n(highest, kTile, -std::numeric_limits<float>::infinity());
    std::fill_n(sum, kTile, 0.0f);
    const std::int64_t seen = problem_.seen(queries.first + queries.count - 1, keys);
    for (std::int64_t tile = 0; tile * kTile < seen; ++tile) {
      const auto [first, count] = tile_of(tile, seen);
      multiply_rows({queries.count, count, head}, rows_of(scratch.queries, head),
                    scratch.keys + tile * kTile * head, kTile, scratch.scores, kTile, StartRow::zero());
      for (std::int64_t t = 0; t < queries.count; ++t) {
        float* scores = scratch.scores + t * kTile;
        const std::int64_t own =
            std::clamp<std::int64_t>(problem_.seen(queries.first + t, keys) - first, 0, count);
        if (own > 0) {
          const float before = highest[t];
          highest[t] = std::max(before, highest_of(scores, own));
          const float shrink = vector_exp(before - highest[t]);
          sum[t] = exponentials(scores, own, highest[t]) + (tile == 0 ? 0.0f : sum[t] * shrink);
          if (tile > 0 && before != highest[t])
#pragma omp simd
            for (std::int64_t i = 0; i < head; ++i) scratch.sums[t * head + i] *= shrink;
          if (problem_.drops()) drop(nh, queries.first + t, {first, own}, scores);
        }
        std::fill(scores + own, scores + count, 0.0f);
      }
      multiply_rows({queries.count, head, count}, rows_of(scratch.scores, kTile),
                    scratch.values + first * head, head, scratch.sums, head,
                    tile == 0 ? StartRow::zero() : StartRow::add());
    }
    for (std::int64_t t = 0; t < queries.count; ++t) {
      float* to = dst_ + ((row + t * stride) * problem_.attrs.heads + h) * head;
      const bool sees = sum[t] > 0;
      const float inverse = sees ? 1 / sum[t] : 0.0f;
      log_sums_[nh * problem_.steps + queries.first + t] = sees ? highest[t] + std::log(sum[t]) : 0.0f;
      if (!sees) {
        std::fill_n(to, head, 0.0f);
        continue;
      }
#pragma omp simd
      for (std::int64_t i = 0; i < head; ++i) to[i] = inverse * scratch.sums[t * head + i];
    }
  }

  void drop(std::int64_t nh, std::int64_t t, const Tile& keys, float* probabilities) const {
    float factors[kTile];
    problem_.dropout_factors(nh, t, keys, factors);
    for (std::int64_t s = 0; s < keys.count; ++s) probabilities[s] *= factors[s];
  }

  Problem problem_;
  const float* qkv_;
  float *dst_, *log_sums_;
};

// The parts of one thread's workspace in the backward pass.
struct BackwardScratch {
  float *keys, *keys_transposed, *values_transposed, *queries, *d_dst, *d_queries, *d_keys, *d_values,
      *scores, *d_scores, *d_dst_dst;

  BackwardScratch(const Problem& problem, float* at) {
    const std::int64_t all = tiles_of(problem.steps) * kTile * problem.head;
    for (float** part :
         {&keys, &keys_transposed, &values_transposed, &queries, &d_dst, &d_queries, &d_keys, &d_values}) {
      *part = at;
      at += all;
    }
    scores = at;
    d_scores = scores + kTile * kTile;
    d_dst_dst = d_scores + kTile * kTile;
  }
  static std::int64_t floats(std::int64_t steps, std::int64_t head) {
    return 8 * tiles_of(steps) * kTile * head + 2 * kTile * kTile + tiles_of(steps) * kTile;
  }
};

class Backward {
 public:
  explicit Backward(const Arguments& arguments)
      : problem_(arguments, 1, 4),
        d_dst_(arguments.input<float>(0)),
        qkv_(arguments.input<float>(1)),
        dst_(arguments.input<float>(2)),
        log_sums_(arguments.input<float>(3)),
        d_qkv_(arguments.output<float>(0)) {}

  const Problem& problem() const { return problem_; }

  void run(std::int64_t n, std::int64_t kv, float* workspace) const {
    const BackwardScratch scratch(problem_, workspace);
    const std::int64_t head = problem_.head, steps = problem_.steps, keys = problem_.keys(n),
                       stride = problem_.row_stride() * problem_.width;
    const float* first = qkv_ + problem_.row(n, 0) * problem_.width;
    float* d_first = d_qkv_ + problem_.row(n, 0) * problem_.width;
    gather(first + problem_.value(kv), stride, keys, head, 1, scratch.keys);  // for a moment
    transpose_tiles(scratch.keys, keys, head, scratch.values_transposed);
    gather(first + problem_.key(kv), stride, keys, head, 1, scratch.keys);
    transpose_tiles(scratch.keys, keys, head, scratch.keys_transposed);
    std::fill_n(scratch.d_keys, steps * head, 0.0f);
    std::fill_n(scratch.d_values, steps * head, 0.0f);
    for (std::int64_t h = kv * problem_.group; h < (kv + 1) * problem_.group; ++h) {
      run_head(n, h, keys, scratch);
      // Queries were multiplied by the scale already, and with them the gradients of keys.
      for (std::int64_t i = 0; i < steps * head; ++i) scratch.d_queries[i] *= problem_.scale;
      scatter(scratch.d_queries, steps, head, stride, d_first + problem_.query(h));
    }
    scatter(scratch.d_keys, steps, head, stride, d_first + problem_.key(kv));
    scatter(scratch.d_values, steps, head, stride, d_first + problem_.value(kv));
  }

 private:
  void run_head(std::int64_t n, std::int64_t h, std::int64_t keys, const BackwardScratch& scratch) const {
    const std::int64_t head = problem_.head, steps = problem_.steps, row = problem_.row(n, 0);
    const std::int64_t stride = problem_.row_stride(), out = problem_.attrs.heads * head;
    gather(qkv_ + row * problem_.width + problem_.query(h), stride * problem_.width, steps, head,
           problem_.scale, scratch.queries);
    gather(d_dst_ + row * out + h * head, stride * out, steps, head, 1, scratch.d_dst);
    std::fill_n(scratch.d_queries, steps * head, 0.0f);
    for (std::int64_t t = 0; t < steps; ++t) {
      scratch.d_dst_dst[t] = dot(scratch.d_dst + t * head, dst_ + (row + t * stride) * out + h * head, head);
    }
    for (std::int64_t i = 0; i < tiles_of(steps); ++i) {
      const Tile queries = tile_of(i, steps);
      const std::int64_t seen = problem_.seen(queries.first + queries.count - 1, keys);
      for (std::int64_t j = 0; j * kTile < seen; ++j)
        run_tile(n * problem_.attrs.heads + h, queries, j, tile_of(j, seen), keys, scratch);
    }
  }

  void run_tile(std::int64_t nh, const Tile& queries, std::int64_t j, const Tile& seen, std::int64_t keys,
                const BackwardScratch& scratch) const {
    const std::int64_t head = problem_.head;
    const float *query_rows = scratch.queries + queries.first * head,
                *d_dst_rows = scratch.d_dst + queries.first * head;
    const ProductSizes scores{queries.count, seen.count, head};
    multiply_rows(scores, rows_of(query_rows, head), scratch.keys_transposed + j * kTile * head, kTile,
                  scratch.scores, kTile, StartRow::zero());
    multiply_rows(scores, rows_of(d_dst_rows, head), scratch.values_transposed + j * kTile * head, kTile,
                  scratch.d_scores, kTile, StartRow::zero());
    for (std::int64_t t = 0; t < queries.count; ++t) {
      float *p = scratch.scores + t * kTile, *d = scratch.d_scores + t * kTile;
      const std::int64_t step = queries.first + t;
      const std::int64_t own =
          std::clamp<std::int64_t>(problem_.seen(step, keys) - seen.first, 0, seen.count);
      const float log_sum = log_sums_[nh * problem_.steps + step], d_dst_dst = scratch.d_dst_dst[step];
      if (problem_.drops()) {
        float factors[kTile];
        problem_.dropout_factors(nh, step, {seen.first, own}, factors);
        for (std::int64_t s = 0; s < own; ++s) {
          const float probability = vector_exp(p[s] - log_sum);
          d[s] = probability * (factors[s] * d[s] - d_dst_dst);
          p[s] = probability * factors[s];
        }
      } else {
#pragma omp simd
        for (std::int64_t s = 0; s < own; ++s) {
          p[s] = vector_exp(p[s] - log_sum);
          d[s] = p[s] * (d[s] - d_dst_dst);
        }
      }
      std::fill(p + own, p + seen.count, 0.0f);
      std::fill(d + own, d + seen.count, 0.0f);
    }
    const ProductSizes of_keys{seen.count, head, queries.count};
    multiply_rows(of_keys, transposed(scratch.scores, kTile), d_dst_rows, head,
                  scratch.d_values + seen.first * head, head, StartRow::add());
    multiply_rows(of_keys, transposed(scratch.d_scores, kTile), query_rows, head,
                  scratch.d_keys + seen.first * head, head, StartRow::add());
    multiply_rows({queries.count, head, seen.count}, rows_of(scratch.d_scores, kTile),
                  scratch.keys + seen.first * head, head, scratch.d_queries + queries.first * head, head,
                  StartRow::add());
  }

  Problem problem_;
  const float *d_dst_, *qkv_, *dst_, *log_sums_;
  float* d_qkv_;
};

template <typename Pass, typename Scratch>
void run(const Arguments& arguments) {
  const Pass pass(arguments);
  const Problem& problem = pass.problem();
  const std::int64_t kv_heads = problem.attrs.kv_heads,
                     floats = (Scratch::floats(problem.steps, problem.head) + 15) / 16 * 16;
  auto* workspace = reinterpret_cast<float*>(arguments.memory.workspace);
  parallel_items(problem.batch * kv_heads, [&](std::int64_t item, int thread) {
    pass.run(item / kv_heads, item % kv_heads, workspace + thread * floats);
  });
}

template <typename Pass, typename Scratch>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::AttentionAttrs>();
  const int qkv = request.node.inputs() > 2 ? 1 : 0;
  const std::int64_t head = attrs.head_size(request.node.input_shape(qkv)[1]);
  KernelIo io = plain_io(request.node);
  Workspace workspace;
  for (int thread = 0; thread < thread_count(); ++thread)
    workspace.add_floats((Scratch::floats(attrs.rows.steps, head) + 15) / 16 * 16);
  io.workspace_bytes = workspace.bytes();
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run<Pass, Scratch>);
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

}  // namespace

std::vector<Candidate> attention_candidates() {
  return {{&ops::attention_op, "own:attention", accept, make<Forward, ForwardScratch>},
          {&ops::attention_grad_op, "own:attention_grad", accept, make<Backward, BackwardScratch>}};
}

}  // namespace trainyard::backend::onednn
