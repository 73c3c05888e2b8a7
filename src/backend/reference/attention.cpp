#include "ops/sequence/attention.h"

#include "backend/reference/backend.h"
#include "base/philox.h"

namespace trainyard::backend::reference {

namespace {

// Finds the vectors of qkv, and says which pairs of them count.
template <typename T>
class Sequences {
 public:
  // `qkv`: the input of that name; `lengths`: the input where there is one.
  Sequences(const Arguments& args, int qkv, int lengths)
      : attrs(args.node.attrs<ops::AttentionAttrs>()),
        rows(args.node.input_shape(qkv)[0]),
        width(args.node.input_shape(qkv)[1]),
        head(attrs.head_size(width)),
        steps(attrs.rows.steps),
        batch(attrs.rows.sequences(rows)),
        scale(attrs.scale(head)),
        lengths_(args.node.inputs() > lengths ? args.input<std::int32_t>(lengths) : nullptr),
        random_(args.context.seed,
                mix_streams(static_cast<std::uint64_t>(args.context.step), attrs.dropout.stream)) {}

  std::int64_t row(std::int64_t n, std::int64_t t) const { return attrs.rows.row(n, t, rows); }
  std::int64_t query(std::int64_t n, std::int64_t h, std::int64_t t) const {
    return row(n, t) * width + h * head;
  }
  std::int64_t key(std::int64_t n, std::int64_t h, std::int64_t t) const {
    return row(n, t) * width + (attrs.heads + h / (attrs.heads / attrs.kv_heads)) * head;
  }
  std::int64_t value(std::int64_t n, std::int64_t h, std::int64_t t) const {
    return key(n, h, t) + attrs.kv_heads * head;
  }
  std::int64_t dst(std::int64_t n, std::int64_t h, std::int64_t t) const {
    return (row(n, t) * attrs.heads + h) * head;
  }
  std::int64_t log_sum(std::int64_t n, std::int64_t h, std::int64_t t) const {
    return (n * attrs.heads + h) * steps + t;
  }
  // Returns the number of the first keys that step t of sequence n sees.
  std::int64_t seen(std::int64_t n, std::int64_t t) const {
    const std::int64_t all = attrs.causal ? t + 1 : steps;
    return lengths_ == nullptr ? all : std::clamp<std::int64_t>(lengths_[n], 0, all);
  }
  // Returns the factor of a probability: 0 where it is dropped.
  double kept(std::int64_t n, std::int64_t h, std::int64_t t, std::int64_t s) const {
    const double rate = attrs.dropout.rate;
    if (rate == 0) return 1;
    const auto index = static_cast<std::uint64_t>(log_sum(n, h, t) * steps + s);
    return to_unit_float(random_.word(index)) >= static_cast<float>(rate) ? 1 / (1 - rate) : 0;
  }
  double dot(const T* a, const T* b) const {
    double sum = 0;
    for (std::int64_t i = 0; i < head; ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
  }
  // Calls visit(n, h, t) for each query.
  template <typename Visit>
  void for_each_query(const Visit& visit) const {
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t h = 0; h < attrs.heads; ++h)
        for (std::int64_t t = 0; t < steps; ++t) visit(n, h, t);
  }

  const ops::AttentionAttrs& attrs;
  const std::int64_t rows, width, head, steps, batch;
  const double scale;

 private:
  const std::int32_t* lengths_;
  Philox random_;
};

void attention(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Sequences<T> all(args, 0, 1);
    const T* qkv = args.input<T>(0);
    T *dst = args.output<T>(0), *log_sums = args.output<T>(1);
    std::vector<double> scores(static_cast<std::size_t>(all.steps));
    all.for_each_query([&](std::int64_t n, std::int64_t h, std::int64_t t) {
      const std::int64_t seen = all.seen(n, t);
      T* to = dst + all.dst(n, h, t);
      std::fill_n(to, all.head, T(0));
      log_sums[all.log_sum(n, h, t)] = T(0);
      if (seen == 0) return;
      for (std::int64_t s = 0; s < seen; ++s)
        scores[static_cast<std::size_t>(s)] =
            all.scale * all.dot(qkv + all.query(n, h, t), qkv + all.key(n, h, s));
      const double highest = *std::max_element(scores.begin(), scores.begin() + seen);
      double sum = 0;
      for (std::int64_t s = 0; s < seen; ++s) sum += std::exp(scores[static_cast<std::size_t>(s)] - highest);
      log_sums[all.log_sum(n, h, t)] = static_cast<T>(highest + std::log(sum));
      for (std::int64_t i = 0; i < all.head; ++i) {
        double mean = 0;
        for (std::int64_t s = 0; s < seen; ++s)
          mean += std::exp(scores[static_cast<std::size_t>(s)] - highest) / sum * all.kept(n, h, t, s) *
                  static_cast<double>(qkv[all.value(n, h, s) + i]);
        to[i] = static_cast<T>(mean);
      }
    });
  });
}

// With probabilities p, their factors k of the dropout, scores x and dst y = sum of p k v:
// d_v += p k d_y, d_x = p (k d_y v - d_y y), d_q += scale d_x key, d_key += scale d_x q
void attention_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Sequences<T> all(args, 1, 4);
    const T *d_dst = args.input<T>(0), *qkv = args.input<T>(1), *dst = args.input<T>(2),
            *log_sums = args.input<T>(3);
    std::vector<double> d_qkv(static_cast<std::size_t>(all.rows * all.width));
    const auto at = [&](std::int64_t i) -> double& { return d_qkv[static_cast<std::size_t>(i)]; };
    all.for_each_query([&](std::int64_t n, std::int64_t h, std::int64_t t) {
      const T* d_y = d_dst + all.dst(n, h, t);
      const double d_y_y = all.dot(d_y, dst + all.dst(n, h, t));
      const std::int64_t query = all.query(n, h, t);
      for (std::int64_t s = 0; s < all.seen(n, t); ++s) {
        const std::int64_t key = all.key(n, h, s), value = all.value(n, h, s);
        const double score = all.scale * all.dot(qkv + query, qkv + key);
        const double p = std::exp(score - static_cast<double>(log_sums[all.log_sum(n, h, t)]));
        const double kept = all.kept(n, h, t, s);
        const double d_score = all.scale * p * (kept * all.dot(d_y, qkv + value) - d_y_y);
        for (std::int64_t i = 0; i < all.head; ++i) {
          at(value + i) += p * kept * static_cast<double>(d_y[i]);
          at(query + i) += d_score * static_cast<double>(qkv[key + i]);
          at(key + i) += d_score * static_cast<double>(qkv[query + i]);
        }
      }
    });
    std::transform(d_qkv.begin(), d_qkv.end(), args.output<T>(0), [](double x) { return static_cast<T>(x); });
    if (!args.node.attrs<ops::AttentionAttrs>().column_sums) return;
    for (std::int64_t column = 0; column < all.width; ++column) {
      double sum = 0;
      for (std::int64_t row = 0; row < all.rows; ++row) sum += at(row * all.width + column);
      args.output<T>(1)[column] = static_cast<T>(sum);
    }
  });
}

}  // namespace

std::vector<Candidate> attention_candidates() {
  return {{&ops::attention_op, "reference:attention", always, make<attention>},
          {&ops::attention_grad_op, "reference:attention_grad", always, make<attention_grad>}};
}

}  // namespace trainyard::backend::reference
