#include "ops/sequence/graph_layers.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

using Row = std::vector<double>;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

Row zeros(std::int64_t count) { return Row(static_cast<std::size_t>(count), 0.0); }

template <typename T>
double dot(const T* x, const double* y, std::size_t count) {
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += x[k] * y[k];
  return sum;
}

// The arguments that both directions share; `src` is the number of that input.
template <typename T>
struct Problem {
  const Arguments& args;
  int src;

  std::int64_t rows() const { return args.node.input_shape(src)[0]; }
  std::int64_t hidden() const { return args.node.input_shape(src)[1]; }
  std::int64_t graphs() const { return args.node.input_shape(src + 2)[0]; }
  std::int64_t first(std::int64_t g) const { return args.input<std::int32_t>(src + 1)[g]; }
  std::int64_t steps(std::int64_t g) const { return args.input<std::int32_t>(src + 2)[g]; }
  const T* node(std::int64_t row) const { return args.input<T>(src) + row * hidden(); }

  // W q* + U q, with the first half of q* being q.
  Row product(const Row& query) const {
    const std::int64_t h = hidden();
    Row sum = zeros(4 * h);
    for (std::int64_t r = 0; r < 4 * h; ++r)
      sum[static_cast<std::size_t>(r)] = dot(args.input<T>(src + 3) + r * 2 * h, query.data(), query.size()) +
                                         dot(args.input<T>(src + 4) + r * h, query.data(), query.size() / 2);
    return sum;
  }
};

template <typename T>
Row attend(const Problem<T>& problem, std::int64_t g, Row& query) {
  const auto h = static_cast<std::size_t>(problem.hidden());
  Row weights;
  for (std::int64_t row = problem.first(g); row < problem.first(g + 1); ++row)
    weights.push_back(dot(problem.node(row), query.data(), h));
  double sum = 0;
  const double highest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
  for (double& weight : weights) sum += weight = std::exp(weight - highest);
  std::fill(query.begin() + problem.hidden(), query.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] /= sum;
    const T* x = problem.node(problem.first(g) + static_cast<std::int64_t>(i));
    for (std::size_t k = 0; k < h; ++k) query[h + k] += weights[i] * x[k];
  }
  return weights;
}

template <typename T>
void store(const Row& from, T* to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
}

template <typename T>
void forward_step(const Problem<T>& problem, std::int64_t g, std::int64_t t, Row& query, Row& cell) {
  const Arguments& args = problem.args;
  const auto h = static_cast<std::size_t>(problem.hidden());
  Row gates = problem.product(query);
  for (std::size_t k = 0; k < 4 * h; ++k) {
    const double sum = gates[k] + args.input<T>(5)[k];
    gates[k] = k / h == 2 ? std::tanh(sum) : logistic(sum);
  }
  for (std::size_t k = 0; k < h; ++k) {
    cell[k] = gates[h + k] * cell[k] + gates[k] * gates[2 * h + k];
    query[k] = gates[3 * h + k] * std::tanh(cell[k]);
  }
  const Row weights = attend(problem, g, query);
  if (!args.node.attrs<ops::Set2SetAttrs>().training) return;
  const std::int64_t place = t * problem.graphs() + g;
  store(query, args.output<T>(1) + place * 2 * problem.hidden());
  store(gates, args.output<T>(2) + place * 4 * problem.hidden());
  store(cell, args.output<T>(3) + place * problem.hidden());
  store(weights, args.output<T>(4) + t * problem.rows() + problem.first(g));
}

struct Sums {
  Row weight, bias, d_src;
};

// Turns the gradients of q* and of the cell after step t into those before it.
template <typename T>
void backward_step(const Problem<T>& problem, std::int64_t g, std::int64_t t, Row& d_query, Row& d_cell,
                   Sums& sums) {
  const Arguments& args = problem.args;
  const std::int64_t hidden = problem.hidden(), place = t * problem.graphs() + g;
  const auto h = static_cast<std::size_t>(hidden);
  const T *query = args.input<T>(6) + place * 2 * hidden, *gates = args.input<T>(7) + place * 4 * hidden,
          *cell = args.input<T>(8) + place * hidden, *weights = args.input<T>(9) + t * problem.rows();
  double mean = 0;
  for (std::int64_t row = problem.first(g); row < problem.first(g + 1); ++row)
    mean += weights[row] * dot(problem.node(row), d_query.data() + h, h);
  for (std::int64_t row = problem.first(g); row < problem.first(g + 1); ++row) {
    const T* x = problem.node(row);
    const double d_score = weights[row] * (dot(x, d_query.data() + h, h) - mean);
    double* d_x = sums.d_src.data() + row * hidden;
    for (std::size_t k = 0; k < h; ++k) {
      d_x[k] += weights[row] * d_query[h + k] + d_score * query[k];
      d_query[k] += d_score * x[k];
    }
  }
  Row d_gates = zeros(4 * hidden);
  const bool first = t == 0;
  for (std::size_t k = 0; k < h; ++k) {
    const double i = gates[k], f = gates[h + k], c = gates[2 * h + k], o = gates[3 * h + k];
    const double squashed = std::tanh(static_cast<double>(cell[k]));
    const double before = first ? 0.0 : (cell - problem.graphs() * hidden)[k];
    const double d_next = d_cell[k] + d_query[k] * o * (1 - squashed * squashed);
    d_gates[k] = d_next * c * i * (1 - i);
    d_gates[h + k] = d_next * before * f * (1 - f);
    d_gates[2 * h + k] = d_next * i * (1 - c * c);
    d_gates[3 * h + k] = d_query[k] * squashed * o * (1 - o);
    d_cell[k] = d_next * f;
  }
  std::fill(d_query.begin(), d_query.end(), 0.0);
  for (std::size_t r = 0; r < 4 * h; ++r) {
    sums.bias[r] += d_gates[r];
    for (std::size_t c = 0; c < 2 * h; ++c) {
      if (!first) sums.weight[r * 2 * h + c] += d_gates[r] * (query - problem.graphs() * 2 * hidden)[c];
      d_query[c] += d_gates[r] * args.input<T>(4)[r * 2 * h + c];
      if (c < h) d_query[c] += d_gates[r] * args.input<T>(5)[r * h + c];
    }
  }
}

void set2set(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Problem<T> problem{args, 0};
    for (int i = 0; i < args.node.outputs(); ++i)
      std::fill_n(args.output<T>(i), args.node.output_shape(i).elements(), T{0});
    for (std::int64_t g = 0; g < problem.graphs(); ++g) {
      Row query = zeros(2 * problem.hidden()), cell = zeros(problem.hidden());
      for (std::int64_t t = 0; t < problem.steps(g); ++t) forward_step(problem, g, t, query, cell);
      store(query, args.output<T>(0) + g * 2 * problem.hidden());
    }
  });
}

void set2set_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Problem<T> problem{args, 1};
    const std::int64_t hidden = problem.hidden();
    Sums sums{zeros(8 * hidden * hidden), zeros(4 * hidden), zeros(problem.rows() * hidden)};
    for (std::int64_t g = 0; g < problem.graphs(); ++g) {
      const T* d_dst = args.input<T>(0) + g * 2 * hidden;
      Row d_query(d_dst, d_dst + 2 * hidden), d_cell = zeros(hidden);
      for (std::int64_t t = problem.steps(g) - 1; t >= 0; --t)
        backward_step(problem, g, t, d_query, d_cell, sums);
    }
    store(sums.weight, args.output<T>(0));
    // U takes the first half of what W takes.
    for (std::int64_t r = 0; r < 4 * hidden; ++r)
      for (std::int64_t c = 0; c < hidden; ++c)
        args.output<T>(1)[r * hidden + c] =
            static_cast<T>(sums.weight[static_cast<std::size_t>(r * 2 * hidden + c)]);
    store(sums.bias, args.output<T>(2));
    if (args.node.attrs<ops::Set2SetGradAttrs>().d_src) store(sums.d_src, args.output<T>(3));
  });
}

}  // namespace

std::vector<Candidate> set2set_candidates() {
  return {{&ops::set2set_op, "reference:set2set", always, make<set2set>},
          {&ops::set2set_grad_op, "reference:set2set_grad", always, make<set2set_grad>}};
}

}  // namespace trainyard::backend::reference
