#include "backend/onednn/attention_tiles.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/vector_math.h"

namespace trainyard::backend::onednn {
namespace {

using Item = AttentionItem;
using Problem = AttentionProblem;
using Tile = AttentionTile;

// Returns the highest of the first `own` numbers. REQUIRES: x has whole lanes; own > 0.
float highest_of_own(const float* x, std::int64_t own) {
  const std::int64_t whole = own / kLanes * kLanes;
  const float highest = whole > 0 ? highest_of(x, whole) : x[0];
  if (whole == own) return highest;
  const int rest = static_cast<int>(own - whole);
  float lanes[kLanes];
#pragma omp simd
  for (int lane = 0; lane < kLanes; ++lane) {
    const float number = lane < rest ? x[whole + lane] : highest;
    lanes[lane] = number > highest ? number : highest;
  }
  return joined_lanes(lanes, [](float a, float b) { return a > b ? a : b; });
}

// x = exp(x - shift), and 0 behind the first `own` numbers; returns the sum. REQUIRES: x has whole lanes.
float exponentials(float* x, std::int64_t own, float shift) {
  return sum_in_lanes(whole_lanes(own), [=, last = static_cast<int>(own)](std::int64_t k) {
    const float e = vector_exp(x[k] - shift);
    return x[k] = static_cast<int>(k) < last ? e : 0.0f;
  });
}

// The parts of one thread's workspace in the forward pass.
struct ForwardScratch {
  float *keys, *values, *queries, *sums, *scores;

  ForwardScratch(const Problem& problem, float* at) {
    keys = at;
    values = keys + tiles_of(problem.steps, kWide) * (kWide + kApart) * problem.head;
    queries = values + whole_lanes(problem.steps * problem.head);
    sums = queries + kBand * problem.head;
    scores = sums + kBand * problem.head;
  }
  static std::int64_t floats(std::int64_t steps, std::int64_t head) {
    return tiles_of(steps, kWide) * (kWide + kApart) * head + whole_lanes(steps * head) + 2 * kBand * head +
           kBand * (kWide + kApart);
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

  // `next` is what this thread will probably do next.
  void run(const Item& item, const Item* next, float* workspace) const {
    const auto [n, kv] = item;
    const ForwardScratch scratch(problem_, workspace);
    const std::int64_t head = problem_.head, stride = problem_.row_stride() * problem_.width,
                       keys = problem_.keys(n);
    const float* first = qkv_ + problem_.row(n, 0) * problem_.width;
    gather(first + problem_.key(kv), stride, keys, head, 1, scratch.values);  // for a moment
    transpose_tiles(scratch.values, keys, head, kWide, scratch.keys);
    gather(first + problem_.value(kv), stride, keys, head, 1, scratch.values);
    for (std::int64_t shared = 0; shared < problem_.group; ++shared)
      for (std::int64_t band = 0; band < tiles_of(problem_.steps, kBand); ++band) {
        const std::int64_t h = kv * problem_.group + shared;
        const Tile queries = tile_of(band, problem_.steps, kBand);
        fetch_ahead(n, h, next, shared, queries);
        run_band(n, h, queries, keys, scratch);
      }
  }

 private:
  void fetch_ahead(std::int64_t n, std::int64_t h, const Item* next, std::int64_t shared,
                   const Tile& queries) const {
    const std::int64_t head = problem_.head;
    for (std::int64_t t = queries.first; t < queries.first + queries.count; ++t) {
      if (next != nullptr) problem_.fetch_qkv(qkv_, next->n, next->kv * problem_.group + shared, t);
      fetch_to_write(dst_ + (problem_.row(n, t) * problem_.attrs.heads + h) * head, head);
    }
  }

  // Sums of exponentials are relative to the highest score so far.
  struct Sums {
    float highest = -std::numeric_limits<float>::infinity(), sum = 0;
  };

  void run_band(std::int64_t n, std::int64_t h, const Tile& queries, std::int64_t keys,
                const ForwardScratch& scratch) const {
    constexpr std::int64_t kStride = kWide + kApart;
    const std::int64_t head = problem_.head, stride = problem_.row_stride();
    const std::int64_t row = problem_.row(n, queries.first), nh = n * problem_.attrs.heads + h;
    gather(qkv_ + row * problem_.width + problem_.query(h), stride * problem_.width, queries.count, head,
           problem_.scale, scratch.queries);
    Sums sums[kBand];
    const std::int64_t seen = problem_.seen(queries.first + queries.count - 1, keys);
    for (std::int64_t tile = 0; tile * kWide < seen; ++tile) {
      const auto [first, count] = tile_of(tile, seen, kWide);
      multiply_rows({queries.count, whole_lanes(count), head}, rows_of(scratch.queries, head),
                    scratch.keys + tile * kStride * head, kStride, scratch.scores, kStride, StartRow::zero());
      for (std::int64_t t = 0; t < queries.count; ++t) {
        float* scores = scratch.scores + t * kStride;
        const std::int64_t own =
            std::clamp<std::int64_t>(problem_.seen(queries.first + t, keys) - first, 0, count);
        if (own > 0) {
          add_exponentials(own, tile == 0, scores, sums[t], scratch.sums + t * head);
          if (problem_.drops()) drop(nh, queries.first + t, {first, own}, scores);
        }
        std::fill(scores + own, scores + count, 0.0f);
      }
      multiply_rows({queries.count, head, count}, rows_of(scratch.scores, kStride),
                    scratch.values + first * head, head, scratch.sums, head,
                    tile == 0 ? StartRow::zero() : StartRow::add());
    }
    for (std::int64_t t = 0; t < queries.count; ++t) {
      float* to = dst_ + ((row + t * stride) * problem_.attrs.heads + h) * head;
      const auto [highest, sum] = sums[t];
      const bool sees = sum != 0;  // so that NaN stays NaN
      const float inverse = sees ? 1 / sum : 0.0f;
      log_sums_[nh * problem_.steps + queries.first + t] = sees ? highest + std::log(sum) : 0.0f;
      if (!sees) {
        std::fill_n(to, head, 0.0f);
        continue;
      }
#pragma omp simd
      for (std::int64_t i = 0; i < head; ++i) to[i] = inverse * scratch.sums[t * head + i];
    }
  }

  // Turns the scores of one query into exponentials; what was summed before shrinks where a score is higher.
  void add_exponentials(std::int64_t own, bool is_first, float* scores, Sums& sums, float* row) const {
    const float before = sums.highest;
    sums.highest = std::max(before, highest_of_own(scores, own));
    const float sum = exponentials(scores, own, sums.highest);
    if (is_first || before == sums.highest) {
      sums.sum += sum;
      return;
    }
    const float shrink = vector_exp(before - sums.highest);
    sums.sum = sum + sums.sum * shrink;
#pragma omp simd
    for (std::int64_t i = 0; i < problem_.head; ++i) row[i] *= shrink;
  }

  void drop(std::int64_t nh, std::int64_t t, const Tile& keys, float* probabilities) const {
    float factors[kWide];
    problem_.dropout_factors(nh, t, keys, factors);
    for (std::int64_t s = 0; s < keys.count; ++s) probabilities[s] *= factors[s];
  }

  Problem problem_;
  const float* qkv_;
  float *dst_, *log_sums_;
};

}  // namespace

std::vector<Candidate> attention_candidates() {
  return {{&ops::attention_op, "own:attention", accept_attention, make_attention<Forward, ForwardScratch>}};
}

}  // namespace trainyard::backend::onednn
