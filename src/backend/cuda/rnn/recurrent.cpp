#include "backend/cuda/rnn/recurrent.h"

#include <cuda_bf16.h>

#include "backend/cuda/dense/dense_kernels.h"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/rnn/rnn_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "ops/sequence/recurrent.h"

namespace trainyard::backend::cuda {

RecurrentProduct::RecurrentProduct(Context& context, const MatmulProblem& problem, bool aligned)
    : context_(context), problem_(problem) {
  if (!aligned) return;
  if (auto planned = context.matmuls().find(context, problem))
    matmul_ = std::make_unique<Matmul>(context, std::move(planned));
}

void RecurrentProduct::run(const std::byte* a, const std::byte* b, std::byte* dst, std::byte* workspace) {
  if (matmul_ != nullptr) {
    matmul_->bind(a, b, dst, nullptr, workspace);
    return matmul_->run();
  }
  const std::int64_t m = problem_.m, n = problem_.n, k = problem_.k;
  const bool a_transposed = problem_.a_transposed, b_transposed = problem_.b_transposed;
  const device::PlainProduct loops{m,
                                   n,
                                   k,
                                   a_transposed ? 1 : k,
                                   a_transposed ? m : 1,
                                   b_transposed ? 1 : n,
                                   b_transposed ? k : 1,
                                   problem_.batch};
  with_float_type(problem_.dtype, [&]<typename T>() {
    device::plain_product<T>(context_.stream(), loops, reinterpret_cast<const T*>(a),
                             reinterpret_cast<const T*>(b), reinterpret_cast<T*>(dst));
  });
}

namespace {

struct Sizes {
  // `src`: the input of that name; both weights follow it.
  Sizes(const graph::NodeView& node, int src)
      : steps(node.input_shape(src)[0]),
        batch(node.input_shape(src)[1]),
        inputs(node.input_shape(src)[2]),
        hidden(node.input_shape(src + 2)[1]),
        rows(node.input_shape(src + 2)[0]),
        element(size_of(node.dtype())) {}

  std::int64_t steps, batch, inputs, hidden;
  std::int64_t rows;  // gates * hidden
  std::size_t element;

  device::StepSizes step() const { return {batch, hidden, static_cast<int>(rows / hidden)}; }
  device::ResidentSizes resident() const { return {steps, batch, hidden, static_cast<int>(rows / hidden)}; }
  std::size_t state_bytes() const { return static_cast<std::size_t>(batch * hidden) * element; }
  std::size_t gate_bytes() const { return static_cast<std::size_t>(batch * rows) * element; }
  std::size_t float_state_bytes() const { return static_cast<std::size_t>(batch * hidden) * sizeof(float); }
  // Does every step's part of a tensor begin where cuBLASLt wants it?
  bool aligned() const {
    constexpr std::size_t kBytes = 64;
    return state_bytes() % kBytes == 0 && gate_bytes() % kBytes == 0;
  }
};

// Cuts a workspace into parts that lie one after the other.
class Parts {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t at = bytes_;
    bytes_ += align_up(bytes);
    return at;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

MatmulProblem problem_of(const KernelRequest& request, std::int64_t m, std::int64_t n, std::int64_t k,
                         bool a_transposed, bool b_transposed) {
  return {.m = m,
          .n = n,
          .k = k,
          .a_transposed = a_transposed,
          .b_transposed = b_transposed,
          .dtype = request.node.dtype(),
          .precision = context_of(request).precision()};
}

const __nv_bfloat16* rounded(const std::byte* memory) {
  return reinterpret_cast<const __nv_bfloat16*>(memory);
}
__nv_bfloat16* rounded(std::byte* memory) { return reinterpret_cast<__nv_bfloat16*>(memory); }

// Makes the counters of launches whose blocks wait for each other.
std::unique_ptr<BlockCounter> resident_counters(Context& device, const Sizes& sizes, bool resident) {
  return resident ? std::make_unique<BlockCounter>(device, static_cast<int>(2 * sizes.resident().groups()))
                  : nullptr;
}

// W x of all steps in one product; then U h and what the gates do, step by step or, `resident`, in one
// launch.
class Forward final : public Kernel {
 public:
  Forward(const KernelRequest& request, bool resident)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        sizes_(node_, 0),
        through_w_(device_,
                   problem_of(request, sizes_.steps * sizes_.batch, sizes_.rows, sizes_.inputs, false, true),
                   sizes_.aligned()),
        counters_(resident_counters(device_, sizes_, resident)) {
    Parts parts;
    std::size_t most = through_w_.workspace_bytes();
    if (!saves()) x_at_ = parts.add(static_cast<std::size_t>(sizes_.steps) * sizes_.gate_bytes());
    if (rounded_bias())
      bias_at_ = parts.add(static_cast<std::size_t>(node_.input_shape(3).elements()) * sizeof(float));
    if (!resident) {
      through_u_ = std::make_unique<RecurrentProduct>(
          device_, problem_of(request, sizes_.batch, sizes_.rows, sizes_.hidden, false, true),
          sizes_.aligned());
      u_at_ = parts.add(sizes_.gate_bytes());
      cell_at_ = parts.add(sizes_.float_state_bytes());
      most = std::max(most, through_u_->workspace_bytes());
    }
    product_at_ = parts.add(most);
    io_.workspace_bytes = parts.bytes();
  }
  std::string choice() const override { return (through_u_ ? *through_u_ : through_w_).choice(); }
  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    std::byte* workspace = binding_.workspace;
    // Each step's gates take the place of its W x.
    std::byte* x = saves() ? binding_.outputs[1] : workspace + x_at_;
    if (rounded_bias())
      device::convert(device_.stream(), rounded(binding_.inputs[3]),
                      reinterpret_cast<float*>(workspace + bias_at_), node_.input_shape(3).elements());
    through_w_.run(binding_.inputs[0], binding_.inputs[1], x, workspace + product_at_);
    if (counters_ != nullptr)
      device::recurrent_resident(device_.stream(), sizes_.resident(),
                                 {.x = rounded(x),
                                  .recurrent_weight = rounded(binding_.inputs[2]),
                                  .bias = bias(),
                                  .dst = rounded(binding_.outputs[0]),
                                  .gates = saves() ? rounded(binding_.outputs[1]) : nullptr,
                                  .inner = saves() ? rounded(binding_.outputs[2]) : nullptr,
                                  .counters = counters_->get()});
    else
      run_steps(x);
  }

 private:
  bool saves() const { return node_.outputs() == 3; }
  bool has_last_bias() const { return node_.input_shape(3)[0] > sizes_.rows; }
  // A bias that ops make of parameters is bf16 where activations are; the kernels add it in f32.
  bool rounded_bias() const { return node_.input(3).type.dtype == DType::bf16; }
  const float* bias() const {
    return reinterpret_cast<const float*>(rounded_bias() ? binding_.workspace + bias_at_
                                                         : binding_.inputs[3]);
  }

  void run_steps(std::byte* x) {
    std::byte* workspace = binding_.workspace;
    with_float_type(node_.dtype(), [&]<typename T>() {
      const auto place = [](std::byte* memory) { return reinterpret_cast<T*>(memory); };
      for (std::int64_t t = 0; t < sizes_.steps; ++t) {
        const auto step = static_cast<std::size_t>(t);
        std::byte* before = t == 0 ? nullptr : binding_.outputs[0] + (step - 1) * sizes_.state_bytes();
        if (t > 0) through_u_->run(before, binding_.inputs[2], workspace + u_at_, workspace + product_at_);
        device::recurrent_step<T>(
            device_.stream(), sizes_.step(),
            {.x = place(x + step * sizes_.gate_bytes()),
             .bias = bias(),
             .last_bias = has_last_bias() ? bias() + sizes_.rows : nullptr,
             .u = t == 0 ? nullptr : place(workspace + u_at_),
             .before = place(before),
             .cell = reinterpret_cast<float*>(workspace + cell_at_),
             .dst = place(binding_.outputs[0] + step * sizes_.state_bytes()),
             .made_gates = saves() ? place(x + step * sizes_.gate_bytes()) : nullptr,
             .inner = saves() ? place(binding_.outputs[2] + step * sizes_.state_bytes()) : nullptr});
      }
    });
  }

  graph::NodeView node_;
  Context& device_;
  Sizes sizes_;
  RecurrentProduct through_w_;
  std::unique_ptr<RecurrentProduct> through_u_;  // null: resident
  std::unique_ptr<BlockCounter> counters_;       // null: step by step
  std::size_t u_at_ = 0, cell_at_ = 0, x_at_ = 0, bias_at_ = 0, product_at_ = 0;
  Binding binding_;
};

// Back through the steps, one by one or in one launch; then one product each for the gradients of W, U and
// src.
class Backward final : public Kernel {
 public:
  Backward(const KernelRequest& request, bool resident)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        sizes_(node_, 1),
        d_weight_(device_,
                  problem_of(request, sizes_.rows, sizes_.inputs, sizes_.steps * sizes_.batch, true, false),
                  sizes_.aligned()),
        counters_(resident_counters(device_, sizes_, resident)) {
    Parts parts;
    const std::size_t all_gates = static_cast<std::size_t>(sizes_.steps) * sizes_.gate_bytes();
    d_x_at_ = parts.add(all_gates);
    d_u_at_ = reset_after_product() ? parts.add(all_gates) : d_x_at_;
    std::size_t most = d_weight_.workspace_bytes();
    if (!resident) {
      through_u_ = std::make_unique<RecurrentProduct>(
          device_, problem_of(request, sizes_.batch, sizes_.hidden, sizes_.rows, false, false),
          sizes_.aligned());
      through_u_at_ = parts.add(sizes_.state_bytes());
      carried_at_ = parts.add(sizes_.float_state_bytes());
      most = std::max(most, through_u_->workspace_bytes());
    }
    if (sizes_.steps > 1) {
      d_recurrent_ = std::make_unique<RecurrentProduct>(
          device_,
          problem_of(request, sizes_.rows, sizes_.hidden, (sizes_.steps - 1) * sizes_.batch, true, false),
          sizes_.aligned());
      most = std::max(most, d_recurrent_->workspace_bytes());
    }
    if (node_.attrs<ops::RecurrentGradAttrs>().d_src) {
      d_src_ = std::make_unique<RecurrentProduct>(
          device_, problem_of(request, sizes_.steps * sizes_.batch, sizes_.inputs, sizes_.rows, false, false),
          sizes_.aligned());
      most = std::max(most, d_src_->workspace_bytes());
    }
    if (has_last_bias()) u_sums_at_ = parts.add(static_cast<std::size_t>(sizes_.rows) * sizeof(float));
    product_at_ = parts.add(most);
    io_.workspace_bytes = parts.bytes();
  }
  std::string choice() const override { return (through_u_ ? *through_u_ : d_weight_).choice(); }
  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    std::byte *workspace = binding_.workspace, *d_x = workspace + d_x_at_, *d_u = workspace + d_u_at_,
              *products = workspace + product_at_;
    if (counters_ != nullptr)
      device::recurrent_resident_grad(device_.stream(), sizes_.resident(),
                                      {.d_dst = rounded(binding_.inputs[0]),
                                       .recurrent_weight = rounded(binding_.inputs[3]),
                                       .dst = rounded(binding_.inputs[4]),
                                       .gates = saved() ? rounded(binding_.inputs[5]) : nullptr,
                                       .inner = saved() ? rounded(binding_.inputs[6]) : nullptr,
                                       .d_x = rounded(d_x),
                                       .d_u = rounded(d_u),
                                       .counters = counters_->get()});
    for (std::int64_t t = sizes_.steps - 1; counters_ == nullptr && t >= 0; --t) {
      step_back(t);
      if (t > 0)
        through_u_->run(d_u + static_cast<std::size_t>(t) * sizes_.gate_bytes(), binding_.inputs[3],
                        workspace + through_u_at_, products);
    }
    d_weight_.run(d_x, binding_.inputs[1], binding_.outputs[0], products);
    // The state before the first step is zero, and nothing comes from it.
    if (d_recurrent_ != nullptr)
      d_recurrent_->run(d_u + sizes_.gate_bytes(), binding_.inputs[4], binding_.outputs[1], products);
    else
      check(cudaMemsetAsync(binding_.outputs[1], 0,
                            static_cast<std::size_t>(sizes_.rows * sizes_.hidden) * sizes_.element,
                            device_.stream()),
            "recurrent_grad");
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::channel_sum(device_.stream(), reinterpret_cast<const T*>(d_x),
                          reinterpret_cast<float*>(binding_.outputs[2]), sizes_.steps * sizes_.batch,
                          sizes_.rows);
    });
    if (has_last_bias()) sum_last_gate(d_u);
    if (d_src_ != nullptr) d_src_->run(d_x, binding_.inputs[2], binding_.outputs[3], products);
  }

 private:
  // In gru the gradients of W x and U h differ.
  bool reset_after_product() const {
    return node_.attrs<ops::RecurrentGradAttrs>().cell == ops::RecurrentCell::gru;
  }

  bool saved() const { return node_.inputs() == 7; }
  bool has_last_bias() const { return node_.output_shape(2)[0] > sizes_.rows; }

  // The sums of all gates of U h; those of the last gate are the gradient of its bias.
  void sum_last_gate(const std::byte* d_u) {
    auto* sums = reinterpret_cast<float*>(binding_.workspace + u_sums_at_);
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::channel_sum(device_.stream(), reinterpret_cast<const T*>(d_u), sums,
                          sizes_.steps * sizes_.batch, sizes_.rows);
    });
    check(cudaMemcpyAsync(reinterpret_cast<float*>(binding_.outputs[2]) + sizes_.rows,
                          sums + sizes_.rows - sizes_.hidden,
                          static_cast<std::size_t>(sizes_.hidden) * sizeof(float), cudaMemcpyDeviceToDevice,
                          device_.stream()),
          "recurrent_grad");
  }

  void step_back(std::int64_t t) {
    const auto step = static_cast<std::size_t>(t);
    const bool first = t == 0;
    std::byte* workspace = binding_.workspace;
    const auto state = [&](int input) {
      return binding_.inputs[static_cast<std::size_t>(input)] + step * sizes_.state_bytes();
    };
    with_float_type(node_.dtype(), [&]<typename T>() {
      const auto place = [](std::byte* memory) { return reinterpret_cast<T*>(memory); };
      device::recurrent_step_grad<T>(
          device_.stream(), sizes_.step(),
          {.d_dst = place(state(0)),
           .through_u = t + 1 == sizes_.steps ? nullptr : place(workspace + through_u_at_),
           .carried = reinterpret_cast<float*>(workspace + carried_at_),
           .dst = place(state(4)),
           .gates = saved() ? place(binding_.inputs[5] + step * sizes_.gate_bytes()) : nullptr,
           .inner = saved() ? place(state(6)) : nullptr,
           .before = first ? nullptr : place(state(4) - sizes_.state_bytes()),
           .inner_before = first || !saved() ? nullptr : place(state(6) - sizes_.state_bytes()),
           .d_x = place(workspace + d_x_at_ + step * sizes_.gate_bytes()),
           .d_u = place(workspace + d_u_at_ + step * sizes_.gate_bytes())});
    });
  }

  graph::NodeView node_;
  Context& device_;
  Sizes sizes_;
  RecurrentProduct d_weight_;
  std::unique_ptr<BlockCounter> counters_;                 // null: step by step
  std::unique_ptr<RecurrentProduct> through_u_;            // null: resident
  std::unique_ptr<RecurrentProduct> d_recurrent_, d_src_;  // null: a single step; not wanted
  std::size_t d_x_at_ = 0, d_u_at_ = 0, through_u_at_ = 0, carried_at_ = 0, product_at_ = 0, u_sums_at_ = 0;
  Binding binding_;
};

Decision accept(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  return request.node.output_shape(0).elements() == 0 ? Decision::no("there is nothing to do")
                                                      : Decision::yes();
}

// `src`: the input of that name.
template <int src>
Decision accept_resident(const KernelRequest& request) {
  if (Decision any = accept(request); !any.accepted()) return any;
  if (request.node.dtype() != DType::bf16) return Decision::no("made for bf16");
  const Sizes sizes(request.node, src);
  if (sizes.steps == 1) return Decision::no("made for several steps");
  // src says which op it is: the layer has its bias as an input, the gradient makes that of the bias.
  const Shape& bias = src == 0 ? request.node.input_shape(3) : request.node.output_shape(2);
  if (bias[0] > sizes.rows) return Decision::no("made for one bias");
  if (!device::resident_fits(sizes.resident(), src == 1,
                             context_of(request).properties().multiProcessorCount))
    return Decision::no(
        "made for at most 1024 units, a multiple of 4, and for so many that all are at once on the GPU");
  return Decision::yes();
}

template <typename RecurrentKernel, bool resident>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<RecurrentKernel>(request, resident);
}

}  // namespace

std::vector<Candidate> recurrent_candidates() {
  return {{&ops::recurrent_op, "own:recurrent_resident", accept_resident<0>, make<Forward, true>},
          {&ops::recurrent_op, "cublaslt:recurrent", accept, make<Forward, false>},
          {&ops::recurrent_grad_op, "own:recurrent_resident_grad", accept_resident<1>, make<Backward, true>},
          {&ops::recurrent_grad_op, "cublaslt:recurrent_grad", accept, make<Backward, false>}};
}

}  // namespace trainyard::backend::cuda
