// Work that does not depend on the step before is one matrix product over all steps: W x, and all gradients
// of weights and of src. A step itself is one product with U and one pass over its gates.

#include "ops/sequence/recurrent.h"
#include "backend/kernel.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/recurrent_gates.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {

namespace {

using ops::RecurrentCell;

struct Sizes {
  std::int64_t steps, batch, inputs, hidden, gates;
  // `src`: the input of that name; both weights follow it.
  Sizes(const graph::NodeView& node, int src)
      : steps(node.input_shape(src)[0]),
        batch(node.input_shape(src)[1]),
        inputs(node.input_shape(src)[2]),
        hidden(node.input_shape(src + 2)[1]),
        gates(node.input_shape(src + 2)[0]) {}

  Product::Sizes all_steps() const { return {steps * batch, inputs, gates}; }
  Product::Sizes one_step() const { return {batch, hidden, gates}; }
  // Returns all but the first, whose state is zero.
  Product::Sizes later_steps() const { return {(steps - 1) * batch, hidden, gates}; }
};

class RecurrentForward final : public Kernel {
 public:
  explicit RecurrentForward(const KernelRequest& request)
      : Kernel(plain_io(request.node)),
        cell_(request.node.attrs<ops::RecurrentAttrs>().cell),
        sizes_(request.node, 0),
        saves_(request.node.outputs() == 3),
        has_last_bias_(request.node.input_shape(3)[0] > sizes_.gates),
        projection_(Product::forward(sizes_.all_steps(), request.inputs[1], Product::After::add_bias)),
        step_(Product::forward(
            sizes_.one_step(), request.inputs[2],
            cell_ == RecurrentCell::gru ? Product::After::nothing : Product::After::add_to_dst)) {
    io_.inputs[1] = projection_.weight_layout();
    io_.inputs[2] = step_.weight_layout();
    Workspace workspace;
    zeros_ = workspace.add_floats(sizes_.gates);
    product_ = workspace.add_floats(cell_ == RecurrentCell::gru ? sizes_.batch * sizes_.gates : 0);
    gates_ = workspace.add_floats(
        saves_ || cell_ == RecurrentCell::rnn ? 0 : sizes_.steps * sizes_.batch * sizes_.gates);
    inner_ = workspace.add_floats(saves_ || cell_ != RecurrentCell::lstm ? 0 : sizes_.batch * sizes_.hidden);
    scratch_ = workspace.add(std::max(projection_.scratch_bytes(), step_.scratch_bytes()));
    io_.workspace_bytes = workspace.bytes();
  }

  void bind(const Binding& binding) override {
    const auto floats = [](std::byte* memory) { return reinterpret_cast<float*>(memory); };
    const auto part = [&](std::size_t offset) { return floats(binding.workspace + offset); };
    float* dst = floats(binding.outputs[0]);
    float* gates = cell_ == RecurrentCell::rnn ? dst : saves_ ? floats(binding.outputs[1]) : part(gates_);
    const std::int64_t state = sizes_.batch * sizes_.hidden;
    const StepRows zeros{part(zeros_), 0};
    zero_row_ = part(zeros_);
    projection_.unbind();
    step_.unbind();
    steps_.clear();
    projection_.bind({floats(binding.inputs[0]), floats(binding.inputs[1]), gates, floats(binding.inputs[3])},
                     binding.workspace + scratch_);
    for (std::int64_t t = 0; t < sizes_.steps; ++t) {
      float* step_gates = gates + t * sizes_.batch * sizes_.gates;
      // Without gradients the state of all steps is kept in one place; so is a gru's, which needs none.
      float* inner = saves_                         ? floats(binding.outputs[2]) + t * state
                     : cell_ == RecurrentCell::lstm ? part(inner_)
                                                    : nullptr;
      GatesForward step{cell_, sizes_.batch, sizes_.hidden, step_gates,     zeros,
                        zeros, zeros,        inner,         dst + t * state};
      step.last_bias = has_last_bias_ ? floats(binding.inputs[3]) + sizes_.gates : nullptr;
      if (t > 0) {
        float* product = cell_ == RecurrentCell::gru ? part(product_) : step_gates;
        step.product = {product, sizes_.gates};
        step.h_before = {dst + (t - 1) * state, sizes_.hidden};
        step.inner_before = {saves_ ? inner - state : inner, sizes_.hidden};
        step_.bind({dst + (t - 1) * state, floats(binding.inputs[2]), product}, binding.workspace + scratch_);
      }
      steps_.push_back(step);
    }
  }

  void run(const StepContext&) override {
    std::fill_n(zero_row_, sizes_.gates, 0.0f);
    projection_.run(0);
    for (std::size_t t = 0; t < steps_.size(); ++t) {
      if (t > 0) step_.run(t - 1);
      run_gates(steps_[t]);
    }
  }

 private:
  RecurrentCell cell_;
  Sizes sizes_;
  bool saves_, has_last_bias_;
  Product projection_, step_;
  std::size_t zeros_, product_, gates_, inner_, scratch_;  // in the workspace
  float* zero_row_ = nullptr;
  std::vector<GatesForward> steps_;
};

class RecurrentGrad final : public Kernel {
 public:
  explicit RecurrentGrad(const KernelRequest& request)
      : Kernel(plain_io(request.node)),
        cell_(request.node.attrs<ops::RecurrentGradAttrs>().cell),
        sizes_(request.node, 1),
        has_last_bias_(request.node.output_shape(2)[0] > sizes_.gates),
        step_(Product::d_src(sizes_.one_step(), std::nullopt)),
        d_weight_(Product::d_weight(sizes_.all_steps(), request.outputs[0], true)),
        d_recurrent_(Product::d_weight(sizes_.steps > 1 ? sizes_.later_steps() : sizes_.one_step(),
                                       request.outputs[1], false)) {
    io_.inputs[3] = step_.weight_layout();
    io_.outputs[0] = d_weight_.weight_layout();
    io_.outputs[1] = d_recurrent_.weight_layout();
    d_recurrent_floats_ = io_.outputs[1].elements(request.node.output_shape(1));
    std::size_t scratch =
        std::max({step_.scratch_bytes(), d_weight_.scratch_bytes(), d_recurrent_.scratch_bytes()});
    if (request.node.attrs<ops::RecurrentGradAttrs>().d_src) {
      d_src_ = Product::d_src(sizes_.all_steps(), std::nullopt);
      io_.inputs[2] = d_src_->weight_layout();
      scratch = std::max(scratch, d_src_->scratch_bytes());
    }
    const std::int64_t state = sizes_.batch * sizes_.hidden, all = sizes_.steps * sizes_.batch * sizes_.gates;
    Workspace workspace;
    zeros_ = workspace.add_floats(sizes_.hidden);
    d_state_ = workspace.add_floats(state);
    d_product_ = workspace.add_floats(state);
    d_gates_ = workspace.add_floats(all);
    d_u_gates_ = cell_ == RecurrentCell::gru ? workspace.add_floats(all) : d_gates_;
    scratch_ = workspace.add(scratch);
    io_.workspace_bytes = workspace.bytes();
  }

  void bind(const Binding& binding) override {
    const auto floats = [](std::byte* memory) { return reinterpret_cast<float*>(memory); };
    const auto part = [&](std::size_t offset) { return floats(binding.workspace + offset); };
    std::byte* scratch = binding.workspace + scratch_;
    const float *src = floats(binding.inputs[1]), *dst = floats(binding.inputs[4]);
    const float *gates = saved() ? floats(binding.inputs[5]) : nullptr,
                *inner = saved() ? floats(binding.inputs[6]) : nullptr;
    float *d_gates = part(d_gates_), *d_u_gates = part(d_u_gates_);
    zero_row_ = part(zeros_);
    carried_ = part(d_state_);
    d_recurrent_weight_ = floats(binding.outputs[1]);
    d_last_gate_ = d_u_gates + sizes_.gates - sizes_.hidden;
    d_last_bias_ = floats(binding.outputs[2]) + sizes_.gates;
    for (Product* product : {&step_, &d_weight_, &d_recurrent_}) product->unbind();
    steps_.clear();
    d_weight_.bind({d_gates, src, floats(binding.outputs[0]), floats(binding.outputs[2])}, scratch);
    if (sizes_.steps > 1)
      d_recurrent_.bind({d_u_gates + sizes_.batch * sizes_.gates, dst, d_recurrent_weight_}, scratch);
    if (d_src_) {
      d_src_->unbind();
      d_src_->bind({d_gates, floats(binding.inputs[2]), floats(binding.outputs[3])}, scratch);
    }
    const std::int64_t state = sizes_.batch * sizes_.hidden, wide = sizes_.batch * sizes_.gates;
    const StepRows zeros{part(zeros_), 0};
    for (std::int64_t t = sizes_.steps - 1; t >= 0; --t) {
      GatesBackward step{.cell = cell_,
                         .batch = sizes_.batch,
                         .hidden = sizes_.hidden,
                         .d_dst = floats(binding.inputs[0]) + t * state,
                         .d_product = zeros,
                         .gates = saved() ? gates + t * wide : nullptr,
                         .inner = saved() ? inner + t * state : nullptr,
                         .dst = dst + t * state,
                         .h_before = zeros,
                         .inner_before = zeros,
                         .d_state = part(d_state_),
                         .d_gates = d_gates + t * wide,
                         .d_u_gates = d_u_gates + t * wide};
      if (t < sizes_.steps - 1) {
        step.d_product = {part(d_product_), sizes_.hidden};
        step_.bind({d_u_gates + (t + 1) * wide, floats(binding.inputs[3]), part(d_product_)}, scratch);
      }
      if (t > 0) step.h_before = {dst + (t - 1) * state, sizes_.hidden};
      if (t > 0 && saved()) step.inner_before = {inner + (t - 1) * state, sizes_.hidden};
      steps_.push_back(step);
    }
  }

  // From the last step to the first.
  void run(const StepContext&) override {
    std::fill_n(zero_row_, sizes_.hidden, 0.0f);
    std::fill_n(carried_, sizes_.batch * sizes_.hidden, 0.0f);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (i > 0) step_.run(i - 1);
      run_gates(steps_[i]);
    }
    d_weight_.run(0);
    if (sizes_.steps > 1)
      d_recurrent_.run(0);
    else
      std::fill_n(d_recurrent_weight_, d_recurrent_floats_, 0.0f);
    if (d_src_) d_src_->run(0);
    if (has_last_bias_) sum_last_gate();
  }

 private:
  bool saved() const { return cell_ != RecurrentCell::rnn; }

  void sum_last_gate() const {
    std::fill_n(d_last_bias_, sizes_.hidden, 0.0f);
    for (std::int64_t row = 0; row < sizes_.steps * sizes_.batch; ++row) {
      const float* from = d_last_gate_ + row * sizes_.gates;
#pragma omp simd
      for (std::int64_t k = 0; k < sizes_.hidden; ++k) d_last_bias_[k] += from[k];
    }
  }

  RecurrentCell cell_;
  Sizes sizes_;
  bool has_last_bias_;
  Product step_, d_weight_, d_recurrent_;
  std::optional<Product> d_src_;
  std::size_t zeros_, d_state_, d_product_, d_gates_, d_u_gates_, scratch_;  // in the workspace
  float *zero_row_ = nullptr, *carried_ = nullptr, *d_recurrent_weight_ = nullptr, *d_last_bias_ = nullptr;
  const float* d_last_gate_ = nullptr;  // of the first row of all
  std::int64_t d_recurrent_floats_ = 0;
  std::vector<GatesBackward> steps_;  // the last first
};

Decision accept_recurrent(const KernelRequest& request) { return wants_f32(request.node); }

// oneDNN 2.6 crashes here as it does for dense_d_src.
Decision accept_grad(const KernelRequest& request) {
  const Sizes sizes(request.node, 1);
  if (sizes.inputs <= 16 && sizes.gates > 1024)
    return Decision::no("oneDNN crashes on at most 16 inputs with many outputs");
  return wants_f32(request.node);
}

template <typename T>
std::unique_ptr<Kernel> make_recurrent(const KernelRequest& request) {
  return std::make_unique<T>(request);
}

void run_forward(const Arguments& arguments) {
  const Shape& table_shape = arguments.node.input_shape(0);
  const std::int64_t vocabulary = table_shape[0], width = table_shape[1];
  const float* table = arguments.input<float>(0);
  const auto* ids = arguments.input<std::int32_t>(1);
  float* dst = arguments.output<float>(0);
  parallel_chunks(arguments.node.input_shape(1).elements(),
                  std::max<std::int64_t>(1, kElementwiseGrain / width),
                  [=](std::int64_t begin, std::int64_t end, int) {
                    for (std::int64_t i = begin; i < end; ++i) {
                      if (ids[i] >= 0 && ids[i] < vocabulary)
                        std::copy_n(table + ids[i] * width, width, dst + i * width);
                      else
                        std::fill_n(dst + i * width, width, std::numeric_limits<float>::quiet_NaN());
                    }
                  });
}

// Each thread owns some of the columns, of all rows, so every sum is made in the order of the ids.
void run_d_table(const Arguments& arguments) {
  constexpr std::int64_t kColumns = 16;  // a cache line: no two threads write into the same
  const std::int64_t vocabulary = arguments.node.output_shape(0)[0],
                     width = arguments.node.output_shape(0)[1];
  const std::int64_t count = arguments.node.input_shape(1).elements();
  const float* d_dst = arguments.input<float>(0);
  const auto* ids = arguments.input<std::int32_t>(1);
  float* d_table = arguments.output<float>(0);
  const std::int64_t blocks = (width + kColumns - 1) / kColumns;
  const std::int64_t worth_a_thread =
      std::max<std::int64_t>(1, kElementwiseGrain / ((count + vocabulary) * kColumns));
  parallel_chunks(blocks, worth_a_thread, [=](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t first = begin * kColumns, columns = std::min(end * kColumns, width) - first;
    for (std::int64_t row = 0; row < vocabulary; ++row)
      std::fill_n(d_table + row * width + first, columns, 0.0f);
    for (std::int64_t i = 0; i < count; ++i) {
      if (ids[i] < 0 || ids[i] >= vocabulary) continue;
      const float* from = d_dst + i * width + first;
      float* to = d_table + ids[i] * width + first;
#pragma omp simd
      for (std::int64_t e = 0; e < columns; ++e) to[e] += from[e];
    }
  });
}

Decision accept_embedding(const KernelRequest& request) { return wants_f32(request.node); }

template <KernelFunction function>
std::unique_ptr<Kernel> make_embedding(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, plain_io(request.node), function);
}

}  // namespace

std::vector<Candidate> recurrent_candidates() {
  return {
      {&ops::recurrent_op, "own:recurrent", accept_recurrent, make_recurrent<RecurrentForward>},
      {&ops::recurrent_grad_op, "own:recurrent_grad", accept_grad, make_recurrent<RecurrentGrad>},
      {&ops::embedding_op, "own:embedding", accept_embedding, make_embedding<run_forward>},
      {&ops::embedding_d_table_op, "own:embedding_d_table", accept_embedding, make_embedding<run_d_table>}};
}

}  // namespace trainyard::backend::onednn
