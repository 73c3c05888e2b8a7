#include "ops/sequence/graph_layers.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // of the nodes of one graph

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// The arguments that both directions share; `src` is the number of that input.
template <typename T>
struct Problem {
  const Arguments& args;
  const ops::GatedGraphConvAttrs& attrs;
  int src;

  std::int64_t rows() const { return args.node.input_shape(src)[0]; }
  std::int64_t inputs() const { return args.node.input_shape(src)[1]; }
  std::int64_t hidden() const { return args.node.input_shape(src + 5)[1]; }
  std::int64_t graphs() const { return args.node.input_shape(src + 2)[0]; }
  std::int64_t first(std::int64_t g) const { return args.input<std::int32_t>(src + 1)[g]; }
  std::int64_t rounds(std::int64_t g) const { return args.input<std::int32_t>(src + 2)[g]; }

  // Calls edge(i, j, weight) for all that node i of graph g takes, itself too; by their place in the graph.
  template <typename Edge>
  void for_each_edge(std::int64_t g, const Edge& edge) const {
    const auto *offsets = args.input<std::int32_t>(src + 3), *neighbours = args.input<std::int32_t>(src + 4);
    const bool normalised = attrs.neighbours == ops::Neighbours::normalised;
    const auto degree = [&](std::int64_t row) { return 1.0 + offsets[row + 1] - offsets[row]; };
    for (std::int64_t row = first(g); row < first(g + 1); ++row) {
      const auto i = static_cast<std::size_t>(row - first(g));
      edge(i, i, normalised ? 1 / degree(row) : 1.0);
      for (std::int32_t e = offsets[row]; e < offsets[row + 1]; ++e)
        edge(i, static_cast<std::size_t>(neighbours[e] - first(g)),
             normalised ? 1 / std::sqrt(degree(row) * degree(neighbours[e])) : 1.0);
    }
  }
  Rows gathered(std::int64_t g, const Rows& states) const {
    Rows sums(states.size(), Row(states.empty() ? 0 : states[0].size(), 0.0));
    for_each_edge(g, [&](std::size_t i, std::size_t j, double weight) {
      for (std::size_t k = 0; k < sums[i].size(); ++k) sums[i][k] += weight * states[j][k];
    });
    return sums;
  }
  // Returns the first `width` numbers of the graph's rows of a (T, R, columns) tensor.
  Rows load(std::int64_t g, const T* tensor, std::int64_t t, std::int64_t columns, std::int64_t width) const {
    Rows loaded;
    for (std::int64_t row = first(g); row < first(g + 1); ++row) {
      const T* from = tensor + (t * rows() + row) * columns;
      loaded.emplace_back(from, from + width);
    }
    return loaded;
  }
  void store(std::int64_t g, const Rows& from, T* tensor, std::int64_t t, std::int64_t columns) const {
    for (std::size_t i = 0; i < from.size(); ++i)
      for (std::size_t k = 0; k < from[i].size(); ++k)
        tensor[(t * rows() + first(g) + static_cast<std::int64_t>(i)) * columns +
               static_cast<std::int64_t>(k)] = static_cast<T>(from[i][k]);
  }
};

// matrix (rows, columns) times the first numbers of a vector, plus bias
template <typename T>
Row product(const T* matrix, std::int64_t columns, const Row& vector, const T* bias, std::int64_t rows) {
  Row sum(bias, bias + rows);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < vector.size(); ++c)
      sum[static_cast<std::size_t>(r)] +=
          static_cast<double>(matrix[r * columns + static_cast<std::int64_t>(c)]) * vector[c];
  return sum;
}

// sum += vector (rows) times matrix, as many columns as sum has
template <typename T>
void add_back(const T* matrix, std::int64_t columns, const Row& vector, Row& sum) {
  for (std::size_t r = 0; r < vector.size(); ++r)
    for (std::size_t c = 0; c < sum.size(); ++c)
      sum[c] += vector[r] * matrix[static_cast<std::int64_t>(r) * columns + static_cast<std::int64_t>(c)];
}

// A WeightSum is a gradient of weights (rows, columns) and bias, summed over all nodes and rounds.
struct WeightSum {
  Row weight, bias;
  std::size_t columns;
  WeightSum(std::int64_t rows, std::int64_t width)
      : weight(static_cast<std::size_t>(rows * width), 0.0),
        bias(static_cast<std::size_t>(rows), 0.0),
        columns(static_cast<std::size_t>(width)) {}
  void add(const Row& d, const Row& x) {
    for (std::size_t r = 0; r < d.size(); ++r) {
      bias[r] += d[r];
      for (std::size_t c = 0; c < x.size(); ++c) weight[r * columns + c] += d[r] * x[c];
    }
  }
};

template <typename T>
void store_all(const Row& from, T* to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
}

template <typename T>
void forward_round(const Problem<T>& problem, std::int64_t g, std::int64_t t, Rows& states) {
  const Arguments& args = problem.args;
  const std::int64_t hidden = problem.hidden();
  const auto h = static_cast<std::size_t>(hidden);
  Rows v = problem.gathered(g, states), gates, inner;
  for (int layer = 0; layer < problem.attrs.layers; ++layer) {
    for (Row& row : v) {
      row = product(args.input<T>(9 + 2 * layer), static_cast<std::int64_t>(row.size()), row,
                    args.input<T>(10 + 2 * layer), hidden);
      for (double& x : row) x = x > 0 ? x : problem.attrs.slope * x;
    }
    if (problem.attrs.training)
      problem.store(g, v, args.output<T>(2), t * problem.attrs.layers + layer, hidden);
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Row x = product(args.input<T>(5), hidden, states[i], args.input<T>(7), 3 * hidden),
              u = product(args.input<T>(6), hidden, v[i], args.input<T>(8), 3 * hidden);
    Row gate(3 * h), state(h);
    for (std::size_t k = 0; k < h; ++k) {
      const double r = gate[k] = logistic(x[k] + u[k]), z = gate[h + k] = logistic(x[h + k] + u[h + k]);
      const double n = gate[2 * h + k] = std::tanh(x[2 * h + k] + r * u[2 * h + k]);
      state[k] = (1 - z) * n + z * v[i][k];
    }
    gates.push_back(gate);
    inner.emplace_back(u.begin() + 2 * hidden, u.end());
    states[i] = state;
  }
  if (!problem.attrs.training) return;
  problem.store(g, states, args.output<T>(1), t, hidden);
  problem.store(g, gates, args.output<T>(3), t, 3 * hidden);
  problem.store(g, inner, args.output<T>(4), t, hidden);
}

struct Sums {
  WeightSum input, recurrent;
  std::vector<WeightSum> layers;
};

// Turns the gradient of the states after round t into that of the states before it, which have `width`
// numbers.
template <typename T>
Rows backward_round(const Problem<T>& problem, std::int64_t g, std::int64_t t, const Rows& d_states,
                    const Rows& before, Sums& sums) {
  const Arguments& args = problem.args;
  const std::int64_t hidden = problem.hidden();
  const int layers = problem.attrs.layers, states = 8 + layers;
  const auto h = static_cast<std::size_t>(hidden);
  const auto layer_output = [&](int layer) {
    return problem.load(g, args.input<T>(states + 1), t * layers + layer, hidden, hidden);
  };
  const Rows gates = problem.load(g, args.input<T>(states + 2), t, 3 * hidden, 3 * hidden),
             inner = problem.load(g, args.input<T>(states + 3), t, hidden, hidden),
             top = layer_output(layers - 1);
  Rows d_before(before.size(), Row(before.empty() ? 0 : before[0].size(), 0.0)), d_v(before.size(), Row(h));
  for (std::size_t i = 0; i < before.size(); ++i) {
    Row d_x(3 * h), d_u(3 * h);
    for (std::size_t k = 0; k < h; ++k) {
      const double d = d_states[i][k], r = gates[i][k], z = gates[i][h + k], n = gates[i][2 * h + k];
      d_x[2 * h + k] = d * (1 - z) * (1 - n * n);
      d_u[2 * h + k] = d_x[2 * h + k] * r;
      d_x[k] = d_u[k] = d_x[2 * h + k] * inner[i][k] * r * (1 - r);
      d_x[h + k] = d_u[h + k] = d * (top[i][k] - n) * z * (1 - z);
      d_v[i][k] = d * z;
    }
    sums.input.add(d_x, before[i]);
    sums.recurrent.add(d_u, top[i]);
    add_back(args.input<T>(6), hidden, d_x, d_before[i]);
    add_back(args.input<T>(7), hidden, d_u, d_v[i]);
  }
  for (int layer = layers - 1; layer >= 0; --layer) {
    const Rows made = layer_output(layer),
               given = layer > 0 ? layer_output(layer - 1) : problem.gathered(g, before);
    for (std::size_t i = 0; i < made.size(); ++i) {
      for (std::size_t k = 0; k < h; ++k) d_v[i][k] *= made[i][k] > 0 ? 1 : problem.attrs.slope;
      sums.layers[static_cast<std::size_t>(layer)].add(d_v[i], given[i]);
      Row d_given(given[i].size(), 0.0);
      add_back(args.input<T>(8 + layer), static_cast<std::int64_t>(given[i].size()), d_v[i], d_given);
      d_v[i] = d_given;
    }
  }
  problem.for_each_edge(g, [&](std::size_t i, std::size_t j, double weight) {
    for (std::size_t k = 0; k < d_before[j].size(); ++k) d_before[j][k] += weight * d_v[i][k];
  });
  return d_before;
}

template <typename T>
void clear(const Arguments& args, int output) {
  std::fill_n(args.output<T>(output), args.node.output_shape(output).elements(), T{0});
}

void gated_graph_conv(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const Problem<T> problem{args, args.node.attrs<ops::GatedGraphConvAttrs>(), 0};
    for (int i = 0; i < args.node.outputs(); ++i) clear<T>(args, i);
    for (std::int64_t g = 0; g < problem.graphs(); ++g) {
      Rows states = problem.load(g, args.input<T>(0), 0, problem.inputs(), problem.inputs());
      for (std::int64_t t = 0; t < problem.rounds(g); ++t) forward_round(problem, g, t, states);
      problem.store(g, states, args.output<T>(0), 0, problem.hidden());
    }
  });
}

void gated_graph_conv_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::GatedGraphConvGradAttrs>();
    const Problem<T> problem{args, attrs.forward, 1};
    const std::int64_t hidden = problem.hidden(), inputs = problem.inputs();
    Sums sums{{3 * hidden, hidden}, {3 * hidden, hidden}, {}};
    for (int layer = 0; layer < attrs.forward.layers; ++layer)
      sums.layers.emplace_back(hidden, layer == 0 ? inputs : hidden);
    const int d_src = 4 + 2 * attrs.forward.layers;
    if (attrs.d_src) clear<T>(args, d_src);
    for (std::int64_t g = 0; g < problem.graphs(); ++g) {
      Rows d_states = problem.load(g, args.input<T>(0), 0, hidden, hidden);
      for (std::int64_t t = problem.rounds(g) - 1; t >= 0; --t) {
        const Rows before =
            t == 0 ? problem.load(g, args.input<T>(1), 0, inputs, inputs)
                   : problem.load(g, args.input<T>(8 + attrs.forward.layers), t - 1, hidden, hidden);
        d_states = backward_round(problem, g, t, d_states, before, sums);
      }
      for (Row& row : d_states) row.resize(static_cast<std::size_t>(inputs));
      if (attrs.d_src) problem.store(g, d_states, args.output<T>(d_src), 0, inputs);
    }
    store_all(sums.input.weight, args.output<T>(0));
    store_all(sums.recurrent.weight, args.output<T>(1));
    store_all(sums.input.bias, args.output<T>(2));
    store_all(sums.recurrent.bias, args.output<T>(3));
    for (std::size_t layer = 0; layer < sums.layers.size(); ++layer) {
      store_all(sums.layers[layer].weight, args.output<T>(4 + 2 * static_cast<int>(layer)));
      store_all(sums.layers[layer].bias, args.output<T>(5 + 2 * static_cast<int>(layer)));
    }
  });
}

}  // namespace

std::vector<Candidate> gated_graph_conv_candidates() {
  return {{&ops::gated_graph_conv_op, "reference:gated_graph_conv", always, make<gated_graph_conv>},
          {&ops::gated_graph_conv_grad_op, "reference:gated_graph_conv_grad", always,
           make<gated_graph_conv_grad>}};
}

}  // namespace trainyard::backend::reference
