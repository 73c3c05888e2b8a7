#include "backend/onednn/recurrent_gates.h"

#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/vector_math.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {

namespace {

using ops::RecurrentCell;

constexpr std::int64_t kUnits = 256, kPiecesWorthAThread = 4;

std::int64_t pieces_of(std::int64_t hidden) { return (hidden + kUnits - 1) / kUnits; }

const float* row(const StepRows& rows, std::int64_t n) { return rows.data + n * rows.stride; }

void rnn(const GatesForward& step, std::int64_t n, std::int64_t first, std::int64_t end) {
  float* dst = step.dst + n * step.hidden;
#pragma omp simd
  for (std::int64_t k = first; k < end; ++k) dst[k] = vector_tanh(dst[k]);
}

void lstm(const GatesForward& step, std::int64_t n, std::int64_t first, std::int64_t end) {
  const std::int64_t h = step.hidden;
  float *i = step.gates + n * 4 * h, *f = i + h, *g = f + h, *o = g + h;
  const float* before = row(step.inner_before, n);
  float *inner = step.inner + n * h, *dst = step.dst + n * h;
#pragma omp simd
  for (std::int64_t k = first; k < end; ++k) {
    i[k] = vector_logistic(i[k]);
    f[k] = vector_logistic(f[k]);
    g[k] = vector_tanh(g[k]);
    o[k] = vector_logistic(o[k]);
    inner[k] = f[k] * before[k] + i[k] * g[k];
    dst[k] = o[k] * vector_tanh(inner[k]);
  }
}

// `last` returns U h of the last gate, with the bias that belongs to it.
template <typename Last>
void gru_units(const GatesForward& step, std::int64_t n, std::int64_t first, std::int64_t end,
               const Last& last) {
  const std::int64_t h = step.hidden;
  float *r = step.gates + n * 3 * h, *z = r + h, *m = z + h;
  const float *u_r = row(step.product, n), *u_z = u_r + h;
  const float* before = row(step.h_before, n);
  float* dst = step.dst + n * h;
#pragma omp simd
  for (std::int64_t k = first; k < end; ++k) {
    r[k] = vector_logistic(r[k] + u_r[k]);
    z[k] = vector_logistic(z[k] + u_z[k]);
    m[k] = vector_tanh(m[k] + r[k] * last(k));
    dst[k] = (1 - z[k]) * m[k] + z[k] * before[k];
  }
  if (step.inner == nullptr) return;
  float* inner = step.inner + n * h;
#pragma omp simd
  for (std::int64_t k = first; k < end; ++k) inner[k] = last(k);
}

void gru(const GatesForward& step, std::int64_t n, std::int64_t first, std::int64_t end) {
  const float *u_m = row(step.product, n) + 2 * step.hidden, *bias = step.last_bias;
  if (bias == nullptr)
    gru_units(step, n, first, end, [=](std::int64_t k) { return u_m[k]; });
  else
    gru_units(step, n, first, end, [=](std::int64_t k) { return u_m[k] + bias[k]; });
}

void rnn(const GatesBackward& step, std::int64_t n, std::int64_t first, std::int64_t end) {
  const std::int64_t at = n * step.hidden;
  const float *d_dst = step.d_dst + at, *through = row(step.d_product, n), *dst = step.dst + at;
  float* d_gates = step.d_gates + at;
#pragma omp simd
  for (std::int64_t k = first; k < end; ++k) d_gates[k] = (d_dst[k] + through[k]) * (1 - dst[k] * dst[k]);
}

void lstm(const GatesBackward& step, std::int64_t n, std::int64_t first, std::int64_t end) {
  const std::int64_t h = step.hidden;
  const float *d_dst = step.d_dst + n * h, *through = row(step.d_product, n), *inner = step.inner + n * h;
  const float *i = step.gates + n * 4 * h, *f = i + h, *g = f + h, *o = g + h;
  const float* before = row(step.inner_before, n);
  float *d_i = step.d_gates + n * 4 * h, *d_f = d_i + h, *d_g = d_f + h, *d_o = d_g + h;
  float* d_state = step.d_state + n * h;
#pragma omp simd
  for (std::int64_t k = first; k < end; ++k) {
    const float d = d_dst[k] + through[k], squashed = vector_tanh(inner[k]);
    const float d_inner = d_state[k] + d * o[k] * (1 - squashed * squashed);
    d_i[k] = d_inner * g[k] * i[k] * (1 - i[k]);
    d_f[k] = d_inner * before[k] * f[k] * (1 - f[k]);
    d_g[k] = d_inner * i[k] * (1 - g[k] * g[k]);
    d_o[k] = d * squashed * o[k] * (1 - o[k]);
    d_state[k] = d_inner * f[k];
  }
}

void gru(const GatesBackward& step, std::int64_t n, std::int64_t first, std::int64_t end) {
  const std::int64_t h = step.hidden;
  const float *d_dst = step.d_dst + n * h, *through = row(step.d_product, n), *inner = step.inner + n * h;
  const float *r = step.gates + n * 3 * h, *z = r + h, *m = z + h;
  const float* before = row(step.h_before, n);
  float *d_r = step.d_gates + n * 3 * h, *d_z = d_r + h, *d_m = d_z + h;
  float *d_u_r = step.d_u_gates + n * 3 * h, *d_u_z = d_u_r + h, *d_u_m = d_u_z + h;
  float* d_state = step.d_state + n * h;
#pragma omp simd
  for (std::int64_t k = first; k < end; ++k) {
    const float d = d_dst[k] + through[k] + d_state[k];
    const float new_part = d * (1 - z[k]) * (1 - m[k] * m[k]);
    d_m[k] = new_part;
    d_u_m[k] = new_part * r[k];
    d_r[k] = d_u_r[k] = new_part * inner[k] * r[k] * (1 - r[k]);
    d_z[k] = d_u_z[k] = d * (before[k] - m[k]) * z[k] * (1 - z[k]);
    d_state[k] = d * z[k];
  }
}

// Pieces fit the first level of cache: some units of one sequence.
template <typename Step>
void run_pieces(const Step& step, std::int64_t begin_piece, std::int64_t end_piece) {
  const std::int64_t pieces = pieces_of(step.hidden);
  for (std::int64_t i = begin_piece; i < end_piece; ++i) {
    const std::int64_t n = i / pieces, first = i % pieces * kUnits,
                       end = std::min(first + kUnits, step.hidden);
    switch (step.cell) {
      case RecurrentCell::rnn:
        rnn(step, n, first, end);
        break;
      case RecurrentCell::lstm:
        lstm(step, n, first, end);
        break;
      case RecurrentCell::gru:
        gru(step, n, first, end);
        break;
    }
  }
}

template <typename Step>
void run_all(const Step& step) {
  parallel_chunks(step.batch * pieces_of(step.hidden), kPiecesWorthAThread,
                  [&](std::int64_t begin, std::int64_t end, int) { run_pieces(step, begin, end); });
}

}  // namespace

void run_gates(const GatesForward& step) { run_all(step); }
void run_gates(const GatesBackward& step) { run_all(step); }
void run_gates_here(const GatesForward& step) { run_pieces(step, 0, step.batch * pieces_of(step.hidden)); }
void run_gates_here(const GatesBackward& step) { run_pieces(step, 0, step.batch * pieces_of(step.hidden)); }

namespace {

using dnnl::memory;

memory::desc plain(const Shape& shape) { return to_desc(shape, Layout{}); }

memory::desc weight_desc(const Product::Sizes& sizes, const std::optional<Layout>& layout) {
  return layout ? to_desc(sizes.weight(), *layout) : any_desc(sizes.weight());
}

dnnl::inner_product_forward::primitive_desc forward_desc(const Product::Sizes& sizes,
                                                         const memory::desc& weight, Product::After after) {
  dnnl::primitive_attr attr = planned_attr();
  if (after == Product::After::add_to_dst) {
    dnnl::post_ops sum;
    sum.append_sum(1);
    attr.set_post_ops(sum);
  }
  const bool bias = after == Product::After::add_bias;
  const dnnl::inner_product_forward::desc desc(
      dnnl::prop_kind::forward_training, plain({sizes.rows, sizes.inputs}), weight,
      bias ? plain({sizes.outputs}) : memory::desc(), plain({sizes.rows, sizes.outputs}));
  return {desc, attr, cpu_engine()};
}

}  // namespace

Product::Product(dnnl::primitive primitive, memory::desc weight, memory::desc scratch,
                 std::vector<Argument> arguments)
    : primitive_(std::move(primitive)),
      weight_(std::move(weight)),
      scratch_(std::move(scratch)),
      arguments_(std::move(arguments)) {}

Product Product::forward(const Sizes& sizes, const std::optional<Layout>& weight, After after) {
  const auto pd = forward_desc(sizes, weight_desc(sizes, weight), after);
  std::vector<Argument> arguments{
      {DNNL_ARG_SRC, pd.src_desc()}, {DNNL_ARG_WEIGHTS, pd.weights_desc()}, {DNNL_ARG_DST, pd.dst_desc()}};
  if (after == After::add_bias) arguments.push_back({DNNL_ARG_BIAS, pd.bias_desc()});
  return {dnnl::inner_product_forward(pd), pd.weights_desc(), pd.scratchpad_desc(), std::move(arguments)};
}

Product Product::d_src(const Sizes& sizes, const std::optional<Layout>& weight) {
  const memory::desc weights = weight_desc(sizes, weight);
  const dnnl::inner_product_backward_data::desc desc(plain({sizes.rows, sizes.inputs}), weights,
                                                     plain({sizes.rows, sizes.outputs}));
  const dnnl::inner_product_backward_data::primitive_desc pd(desc, planned_attr(), cpu_engine(),
                                                             forward_desc(sizes, weights, After::nothing));
  return {dnnl::inner_product_backward_data(pd),
          pd.weights_desc(),
          pd.scratchpad_desc(),
          {{DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
           {DNNL_ARG_WEIGHTS, pd.weights_desc()},
           {DNNL_ARG_DIFF_SRC, pd.diff_src_desc()}}};
}

Product Product::d_weight(const Sizes& sizes, const std::optional<Layout>& weight, bool bias) {
  const memory::desc weights = weight_desc(sizes, weight);
  const dnnl::inner_product_backward_weights::desc desc(plain({sizes.rows, sizes.inputs}), weights,
                                                        bias ? plain({sizes.outputs}) : memory::desc(),
                                                        plain({sizes.rows, sizes.outputs}));
  const dnnl::inner_product_backward_weights::primitive_desc pd(
      desc, planned_attr(), cpu_engine(),
      forward_desc(sizes, weights, bias ? After::add_bias : After::nothing));
  std::vector<Argument> arguments{{DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                                  {DNNL_ARG_SRC, pd.src_desc()},
                                  {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc()});
  return {dnnl::inner_product_backward_weights(pd), pd.diff_weights_desc(), pd.scratchpad_desc(),
          std::move(arguments)};
}

Layout Product::weight_layout() const { return to_layout(weight_); }

void Product::unbind() {
  memories_.clear();
  sets_.clear();
}

void Product::bind(const std::vector<const float*>& data, std::byte* scratch) {
  TRAINYARD_CHECK(data.size() == arguments_.size());
  std::vector<memory>& memories = memories_.emplace_back();
  std::vector<dnnl_exec_arg_t>& set = sets_.emplace_back();
  for (std::size_t i = 0; i < data.size(); ++i) {
    // oneDNN takes what it reads and what it writes alike.
    memories.emplace_back(arguments_[i].desc, cpu_engine(), const_cast<float*>(data[i]));
    set.push_back({arguments_[i].id, memories.back().get()});
  }
  if (scratch_bytes() == 0) return;
  memories.emplace_back(scratch_, cpu_engine(), scratch);
  set.push_back({DNNL_ARG_SCRATCHPAD, memories.back().get()});
}

void Product::run(std::size_t set) const { execute(primitive_, sets_[set]); }

}  // namespace trainyard::backend::onednn
