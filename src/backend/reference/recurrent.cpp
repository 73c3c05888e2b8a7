#include "ops/sequence/recurrent.h"
#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

using ops::RecurrentCell;
using Row = std::vector<double>;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

Row zeros(std::int64_t count) { return Row(static_cast<std::size_t>(count), 0.0); }

// sum += matrix (rows, columns) times vector
template <typename T>
void add_product(const T* matrix, const T* vector, std::int64_t rows, std::int64_t columns, double* sum) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      sum[r] += static_cast<double>(matrix[r * columns + c]) * vector[c];
}

// sum (columns) += vector (rows) times matrix
template <typename T>
void add_transposed_product(const T* matrix, const Row& vector, std::int64_t columns, Row& sum) {
  for (std::size_t r = 0; r < vector.size(); ++r)
    for (std::size_t c = 0; c < sum.size(); ++c)
      sum[c] += vector[r] * matrix[static_cast<std::int64_t>(r) * columns + static_cast<std::int64_t>(c)];
}

// matrix += column times row
template <typename T>
void add_outer_product(const Row& column, const T* row, std::int64_t columns, Row& matrix) {
  for (std::size_t r = 0; r < column.size(); ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      matrix[r * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c)] += column[r] * row[c];
}

struct Sizes {
  std::int64_t steps, batch, inputs, hidden, rows;
  Sizes(const graph::NodeView& node, int src)
      : steps(node.input_shape(src)[0]),
        batch(node.input_shape(src)[1]),
        inputs(node.input_shape(src)[2]),
        hidden(node.input_shape(src + 2)[1]),
        rows(node.input_shape(src + 2)[0]) {}
};

// One unit of one step: from W x + b and U h of its gates, each `stride` after the other.
struct Unit {
  double gates[4], inner, dst;
};

Unit step_unit(RecurrentCell cell, const double* x, const double* u, std::int64_t stride, double h,
               double c) {
  const auto sum = [&](int gate) { return x[gate * stride] + u[gate * stride]; };
  if (cell == RecurrentCell::rnn) return {{}, 0, std::tanh(sum(0))};
  if (cell == RecurrentCell::lstm) {
    const double i = logistic(sum(0)), f = logistic(sum(1)), g = std::tanh(sum(2)), o = logistic(sum(3));
    const double next = f * c + i * g;
    return {{i, f, g, o}, next, o * std::tanh(next)};
  }
  const double r = logistic(sum(0)), z = logistic(sum(1)), product = u[2 * stride];
  const double n = std::tanh(x[2 * stride] + r * product);
  return {{r, z, n}, product, (1 - z) * n + z * h};
}

// Computes the gradient of one unit.
struct UnitGradient {
  double x[4], u[4];  // of W x + b and of U h, gate by gate: they differ in gru's n
  double h, c;        // of the state before, but for what comes through U h
};

UnitGradient unit_gradient(RecurrentCell cell, const Unit& unit, double d_dst, double d_c, double h,
                           double c) {
  if (cell == RecurrentCell::rnn) {
    const double d = d_dst * (1 - unit.dst * unit.dst);
    return {{d}, {d}, 0, 0};
  }
  if (cell == RecurrentCell::lstm) {
    const auto [i, f, g, o] = unit.gates;
    const double squashed = std::tanh(unit.inner);
    const double d_next = d_c + d_dst * o * (1 - squashed * squashed);
    const double d_i = d_next * g * i * (1 - i), d_f = d_next * c * f * (1 - f),
                 d_g = d_next * i * (1 - g * g), d_o = d_dst * squashed * o * (1 - o);
    return {{d_i, d_f, d_g, d_o}, {d_i, d_f, d_g, d_o}, 0, d_next * f};
  }
  const double r = unit.gates[0], z = unit.gates[1], n = unit.gates[2];
  const double d_n = d_dst * (1 - z) * (1 - n * n), d_z = d_dst * (h - n) * z * (1 - z),
               d_r = d_n * unit.inner * r * (1 - r);
  return {{d_r, d_z, d_n}, {d_r, d_z, d_n * r}, d_dst * z, 0};
}

void recurrent(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const RecurrentCell cell = args.node.attrs<ops::RecurrentAttrs>().cell;
    const Sizes sizes(args.node, 0);
    const bool saves = args.node.outputs() == 3;
    const T* bias = args.input<T>(3);
    Row inner = zeros(sizes.batch * sizes.hidden);
    for (std::int64_t row = 0; row < sizes.steps * sizes.batch; ++row) {
      const bool first = row < sizes.batch;
      const T* before = first ? nullptr : args.output<T>(0) + (row - sizes.batch) * sizes.hidden;
      Row x(bias, bias + sizes.rows), u = zeros(sizes.rows);
      add_product(args.input<T>(1), args.input<T>(0) + row * sizes.inputs, sizes.rows, sizes.inputs,
                  x.data());
      if (!first) add_product(args.input<T>(2), before, sizes.rows, sizes.hidden, u.data());
      for (std::int64_t i = sizes.rows; i < args.node.input_shape(3)[0]; ++i)
        u[static_cast<std::size_t>(i - sizes.hidden)] += bias[i];
      for (std::int64_t k = 0; k < sizes.hidden; ++k) {
        double& state = inner[static_cast<std::size_t>(row % sizes.batch * sizes.hidden + k)];
        const Unit unit =
            step_unit(cell, x.data() + k, u.data() + k, sizes.hidden, first ? 0.0 : before[k], state);
        state = unit.inner;
        args.output<T>(0)[row * sizes.hidden + k] = static_cast<T>(unit.dst);
        if (!saves) continue;
        for (std::int64_t gate = 0; gate < ops::gates_of(cell); ++gate)
          args.output<T>(1)[row * sizes.rows + gate * sizes.hidden + k] = static_cast<T>(unit.gates[gate]);
        args.output<T>(2)[row * sizes.hidden + k] = static_cast<T>(unit.inner);
      }
    }
  });
}

void recurrent_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const auto& attrs = args.node.attrs<ops::RecurrentGradAttrs>();
    const Sizes sizes(args.node, 1);
    const bool saved = args.node.inputs() == 7;
    const T *src = args.input<T>(1), *dst = args.input<T>(4);
    Row d_weight = zeros(sizes.rows * sizes.inputs), d_recurrent = zeros(sizes.rows * sizes.hidden);
    Row d_bias = zeros(attrs.bias_blocks * sizes.hidden);
    // d_h and d_c are the gradients of the state that each sequence brings from the step before.
    std::vector<Row> d_h(static_cast<std::size_t>(sizes.batch), zeros(sizes.hidden)), d_c = d_h;
    for (std::int64_t row = sizes.steps * sizes.batch - 1; row >= 0; --row) {
      const bool first = row < sizes.batch;
      const std::int64_t before = row - sizes.batch;
      Row &dh = d_h[static_cast<std::size_t>(row % sizes.batch)],
          &dc = d_c[static_cast<std::size_t>(row % sizes.batch)];
      Row d_x = zeros(sizes.rows), d_u = zeros(sizes.rows);
      for (std::int64_t k = 0; k < sizes.hidden; ++k) {
        Unit unit{{}, 0, dst[row * sizes.hidden + k]};
        if (saved) {
          for (std::int64_t gate = 0; gate < ops::gates_of(attrs.cell); ++gate)
            unit.gates[gate] = args.input<T>(5)[row * sizes.rows + gate * sizes.hidden + k];
          unit.inner = args.input<T>(6)[row * sizes.hidden + k];
        }
        const double h = first ? 0.0 : dst[before * sizes.hidden + k];
        const double c = first || !saved ? 0.0 : args.input<T>(6)[before * sizes.hidden + k];
        double &d_state = dh[static_cast<std::size_t>(k)], &d_cell = dc[static_cast<std::size_t>(k)];
        const double d_dst = args.input<T>(0)[row * sizes.hidden + k] + d_state;
        const UnitGradient d = unit_gradient(attrs.cell, unit, d_dst, d_cell, h, c);
        for (std::int64_t gate = 0; gate < ops::gates_of(attrs.cell); ++gate) {
          d_x[static_cast<std::size_t>(gate * sizes.hidden + k)] = d.x[gate];
          d_u[static_cast<std::size_t>(gate * sizes.hidden + k)] = d.u[gate];
        }
        d_state = d.h;
        d_cell = d.c;
      }
      for (std::size_t r = 0; r < d_x.size(); ++r) d_bias[r] += d_x[r];
      for (std::size_t r = d_x.size(); r < d_bias.size(); ++r)
        d_bias[r] += d_u[r - static_cast<std::size_t>(sizes.hidden)];
      add_outer_product(d_x, src + row * sizes.inputs, sizes.inputs, d_weight);
      add_transposed_product(args.input<T>(3), d_u, sizes.hidden, dh);
      if (!first) add_outer_product(d_u, dst + before * sizes.hidden, sizes.hidden, d_recurrent);
      if (!attrs.d_src) continue;
      Row d_src = zeros(sizes.inputs);
      add_transposed_product(args.input<T>(2), d_x, sizes.inputs, d_src);
      for (std::size_t i = 0; i < d_src.size(); ++i)
        args.output<T>(3)[row * sizes.inputs + static_cast<std::int64_t>(i)] = static_cast<T>(d_src[i]);
    }
    const Row* sums[] = {&d_weight, &d_recurrent, &d_bias};
    for (int i = 0; i < 3; ++i)
      for (std::size_t e = 0; e < sums[i]->size(); ++e) args.output<T>(i)[e] = static_cast<T>((*sums[i])[e]);
  });
}

void embedding(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t vocabulary = args.node.input_shape(0)[0], width = args.node.input_shape(0)[1];
    const T* table = args.input<T>(0);
    const auto* ids = args.input<std::int32_t>(1);
    T* dst = args.output<T>(0);
    for (std::int64_t i = 0; i < args.node.input_shape(1).elements(); ++i, dst += width) {
      if (ids[i] >= 0 && ids[i] < vocabulary)
        std::copy_n(table + ids[i] * width, width, dst);
      else
        std::fill_n(dst, width, std::numeric_limits<T>::quiet_NaN());
    }
  });
}

void embedding_d_table(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t vocabulary = args.node.output_shape(0)[0], width = args.node.output_shape(0)[1];
    const T* d_dst = args.input<T>(0);
    const auto* ids = args.input<std::int32_t>(1);
    std::vector<double> sums(static_cast<std::size_t>(vocabulary * width), 0);
    for (std::int64_t i = 0; i < args.node.input_shape(1).elements(); ++i, d_dst += width) {
      if (ids[i] < 0 || ids[i] >= vocabulary) continue;
      for (std::int64_t e = 0; e < width; ++e) sums[static_cast<std::size_t>(ids[i] * width + e)] += d_dst[e];
    }
    std::transform(sums.begin(), sums.end(), args.output<T>(0),
                   [](double sum) { return static_cast<T>(sum); });
  });
}

}  // namespace

std::vector<Candidate> recurrent_candidates() {
  return {{&ops::recurrent_op, "reference:recurrent", always, make<recurrent>},
          {&ops::recurrent_grad_op, "reference:recurrent_grad", always, make<recurrent_grad>},
          {&ops::embedding_op, "reference:embedding", always, make<embedding>},
          {&ops::embedding_d_table_op, "reference:embedding_d_table", always, make<embedding_d_table>}};
}

}  // namespace trainyard::backend::reference
