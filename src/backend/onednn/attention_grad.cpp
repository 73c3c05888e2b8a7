#include "backend/onednn/attention_tiles.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/vector_math.h"

namespace trainyard::backend::onednn {
namespace {

using Item = AttentionItem;
using Problem = AttentionProblem;
using Tile = AttentionTile;

// The parts of one thread's workspace in the backward pass.
struct BackwardScratch {
  float *keys_transposed, *values_transposed, *scores, *d_scores, *keys, *queries, *d_dst, *d_queries,
      *d_keys, *d_values, *d_dst_dst;

  BackwardScratch(const Problem& problem, float* at) {
    const auto take = [&at](std::int64_t floats) { return std::exchange(at, at + floats); };
    for (float** part : {&keys_transposed, &values_transposed})
      *part = take(tiles_of(problem.steps, kTile) * (kTile + kApart) * problem.head);
    for (float** part : {&scores, &d_scores}) *part = take(kTile * (kTile + kApart));
    for (float** part : {&keys, &queries, &d_dst, &d_queries, &d_keys, &d_values})
      *part = take(whole_lanes(problem.steps * problem.head));
    d_dst_dst = at;
  }
  static std::int64_t floats(std::int64_t steps, std::int64_t head) {
    return 2 * (tiles_of(steps, kTile) * head + kTile) * (kTile + kApart) + 6 * whole_lanes(steps * head) +
           steps;
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

  // `next` is what this thread will probably do next.
  void run(const Item& item, const Item* next, float* workspace) const {
    const auto [n, kv] = item;
    const BackwardScratch scratch(problem_, workspace);
    const std::int64_t head = problem_.head, steps = problem_.steps, keys = problem_.keys(n),
                       stride = problem_.row_stride() * problem_.width;
    const float* first = qkv_ + problem_.row(n, 0) * problem_.width;
    float* d_first = d_qkv_ + problem_.row(n, 0) * problem_.width;
    gather(first + problem_.value(kv), stride, keys, head, 1, scratch.keys);  // for a moment
    transpose_tiles(scratch.keys, keys, head, kTile, scratch.values_transposed);
    gather(first + problem_.key(kv), stride, keys, head, 1, scratch.keys);
    transpose_tiles(scratch.keys, keys, head, kTile, scratch.keys_transposed);
    std::fill_n(scratch.d_keys, steps * head, 0.0f);
    std::fill_n(scratch.d_values, steps * head, 0.0f);
    for (std::int64_t shared = 0; shared < problem_.group; ++shared) {
      const std::int64_t h = kv * problem_.group + shared;
      run_head(n, h, next, keys, scratch);
      // Queries were multiplied by the scale already, and with them the gradients of keys.
      for (std::int64_t i = 0; i < steps * head; ++i) scratch.d_queries[i] *= problem_.scale;
      scatter(scratch.d_queries, steps, head, stride, d_first + problem_.query(h));
    }
    scatter(scratch.d_keys, steps, head, stride, d_first + problem_.key(kv));
    scatter(scratch.d_values, steps, head, stride, d_first + problem_.value(kv));
  }

 private:
  void run_head(std::int64_t n, std::int64_t h, const Item* next, std::int64_t keys,
                const BackwardScratch& scratch) const {
    const std::int64_t head = problem_.head, steps = problem_.steps, row = problem_.row(n, 0);
    const std::int64_t stride = problem_.row_stride(), out = problem_.attrs.heads * head;
    gather(qkv_ + row * problem_.width + problem_.query(h), stride * problem_.width, steps, head,
           problem_.scale, scratch.queries);
    gather(d_dst_ + row * out + h * head, stride * out, steps, head, 1, scratch.d_dst);
    std::fill_n(scratch.d_queries, steps * head, 0.0f);
    for (std::int64_t t = 0; t < steps; ++t) {
      scratch.d_dst_dst[t] = dot(scratch.d_dst + t * head, dst_ + (row + t * stride) * out + h * head, head);
    }
    for (std::int64_t i = 0; i < tiles_of(steps, kTile); ++i) {
      const Tile queries = tile_of(i, steps, kTile);
      const std::int64_t seen = problem_.seen(queries.first + queries.count - 1, keys);
      fetch_ahead(n, h, next, queries);
      for (std::int64_t j = 0; j * kTile < seen; ++j)
        run_tile(n * problem_.attrs.heads + h, queries, j, tile_of(j, seen, kTile), keys, scratch);
    }
  }

  void fetch_ahead(std::int64_t n, std::int64_t h, const Item* next, const Tile& queries) const {
    const std::int64_t head = problem_.head, group = problem_.group, out = problem_.attrs.heads * head;
    for (std::int64_t t = queries.first; t < queries.first + queries.count; ++t) {
      float* d_row = d_qkv_ + problem_.row(n, t) * problem_.width;
      fetch_to_write(d_row + problem_.query(h), head);
      if (h % group == 0) {
        fetch_to_write(d_row + problem_.key(h / group), head);
        fetch_to_write(d_row + problem_.value(h / group), head);
      }
      if (next == nullptr) continue;
      const std::int64_t next_h = next->kv * group + h % group, row = problem_.row(next->n, t);
      problem_.fetch_qkv(qkv_, next->n, next_h, t);
      fetch(d_dst_ + row * out + next_h * head, head);
      fetch(dst_ + row * out + next_h * head, head);
    }
  }

  void run_tile(std::int64_t nh, const Tile& queries, std::int64_t j, const Tile& seen, std::int64_t keys,
                const BackwardScratch& scratch) const {
    const std::int64_t head = problem_.head;
    // Only where the diagonal passes do bands of queries see different keys.
    const bool diagonal = problem_.attrs.causal && seen.first + seen.count > queries.first;
    const std::int64_t size = diagonal ? kBand : kTile;
    for (std::int64_t first = 0; first < queries.count; first += size) {
      const Tile band{first, std::min(size, queries.count - first)};
      const std::int64_t last = queries.first + first + band.count - 1;
      const Tile own{seen.first,
                     std::clamp<std::int64_t>(problem_.seen(last, keys) - seen.first, 0, seen.count)};
      make_scores({queries.first + first, band.count}, j, own, scratch, first);
      for (std::int64_t t = first; t < first + band.count; ++t)
        make_row(nh, queries.first + t, keys, seen, scratch.scores + t * kStride,
                 scratch.d_scores + t * kStride, scratch.d_dst_dst[queries.first + t]);
      multiply_rows({band.count, head, own.count}, rows_of(scratch.d_scores + first * kStride, kStride),
                    scratch.keys + seen.first * head, head,
                    scratch.d_queries + (queries.first + first) * head, head, StartRow::add());
    }
    for (std::int64_t first = 0; first < seen.count; first += size) {
      const std::int64_t count = std::min(size, seen.count - first);
      // The queries before see none of these keys.
      const std::int64_t from =
          diagonal ? std::clamp<std::int64_t>(seen.first + first - queries.first, 0, queries.count) : 0;
      const ProductSizes sizes{count, head, queries.count - from};
      const std::int64_t scores = from * kStride + first, query = (queries.first + from) * head,
                         key = (seen.first + first) * head;
      multiply_rows(sizes, transposed(scratch.scores + scores, kStride), scratch.d_dst + query, head,
                    scratch.d_values + key, head, StartRow::add());
      multiply_rows(sizes, transposed(scratch.d_scores + scores, kStride), scratch.queries + query, head,
                    scratch.d_keys + key, head, StartRow::add());
    }
  }

  // Writes the scores of some queries, and the gradients of the probabilities, from row `to` of the tile on.
  void make_scores(const Tile& queries, std::int64_t j, const Tile& own, const BackwardScratch& scratch,
                   std::int64_t to) const {
    const std::int64_t head = problem_.head, tile = j * kStride * head, row = queries.first * head;
    const ProductSizes sizes{queries.count, whole_lanes(own.count), head};
    multiply_rows(sizes, rows_of(scratch.queries + row, head), scratch.keys_transposed + tile, kStride,
                  scratch.scores + to * kStride, kStride, StartRow::zero());
    multiply_rows(sizes, rows_of(scratch.d_dst + row, head), scratch.values_transposed + tile, kStride,
                  scratch.d_scores + to * kStride, kStride, StartRow::zero());
  }

  // Turns the scores of one query into probabilities p, and their gradients into those of scores.
  void make_row(std::int64_t nh, std::int64_t step, std::int64_t keys, const Tile& seen, float* p, float* d,
                float d_dst_dst) const {
    const std::int64_t own = std::clamp<std::int64_t>(problem_.seen(step, keys) - seen.first, 0, seen.count),
                       lanes = whole_lanes(own);
    const float log_sum = log_sums_[nh * problem_.steps + step];
    if (problem_.drops()) {
      float factors[kTile];
      problem_.dropout_factors(nh, step, {seen.first, own}, factors);
      for (std::int64_t s = 0; s < own; ++s) {
        const float probability = vector_exp(p[s] - log_sum);
        d[s] = probability * (factors[s] * d[s] - d_dst_dst);
        p[s] = probability * factors[s];
      }
      std::fill(p + own, p + lanes, 0.0f);
      std::fill(d + own, d + lanes, 0.0f);
    } else {
      for (std::int64_t first = 0; first < lanes; first += kLanes) {
        const int last = static_cast<int>(own - first);
#pragma omp simd
        for (int lane = 0; lane < kLanes; ++lane) {
          const std::int64_t s = first + lane;
          const float probability = vector_exp(p[s] - log_sum), d_score = probability * (d[s] - d_dst_dst);
          p[s] = lane < last ? probability : 0.0f;
          d[s] = lane < last ? d_score : 0.0f;
        }
      }
    }
    std::fill_n(p + lanes, seen.count - lanes, 0.0f);  // none where that is negative
    std::fill_n(d + lanes, seen.count - lanes, 0.0f);
  }

  static constexpr std::int64_t kStride = kTile + kApart;

  Problem problem_;
  const float *d_dst_, *qkv_, *dst_, *log_sums_;
  float* d_qkv_;
};

}  // namespace

std::vector<Candidate> attention_grad_candidates() {
  return {{&ops::attention_grad_op, "own:attention_grad", accept_attention,
           make_attention<Backward, BackwardScratch>}};
}

}  // namespace trainyard::backend::onednn
