#include "backend/cuda/dense/dense.h"

#include "backend/cuda/dense/dense_kernels.h"
#include "backend/cuda/dense/matmul.h"
#include "backend/cuda/elementwise/elementwise.h"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/list.h"
#include "backend/cuda/runtime/padded_rows.h"
#include "ops/dense.h"

namespace trainyard::backend::cuda {

namespace {

// src (N, K), weight (O, K), dst (N, O)
MatmulProblem forward_problem(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  return {.m = node.output_shape(0)[0],
          .n = node.output_shape(0)[1],
          .k = node.input_shape(1).elements_from(1),
          .b_transposed = true,
          .dtype = node.dtype(),
          .precision = context_of(request).precision()};
}

// d_dst of wide rows is padded where the loss left it so; the sum of a bias wants plain rows.
Layout d_dst_layout(const KernelRequest& request) {
  return request.node.attrs<ops::DenseGradAttrs>().bias ? Layout{} : present_rows(request, 0);
}

std::int64_t d_dst_stride(const KernelRequest& request) {
  const Layout layout = d_dst_layout(request);
  return layout.is_plain() ? 0 : row_stride(layout, request.node.input_shape(0));
}

MatmulProblem d_src_problem(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  return {.m = node.input_shape(0)[0],
          .n = node.input_shape(1).elements_from(1),
          .k = node.input_shape(0)[1],
          .dtype = node.dtype(),
          .precision = context_of(request).precision(),
          .a_stride = d_dst_stride(request)};
}

MatmulProblem d_weight_problem(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  return {.m = node.input_shape(0)[1],
          .n = node.input_shape(1).elements_from(1),
          .k = node.input_shape(0)[0],
          .a_transposed = true,
          .dtype = node.dtype(),
          .precision = context_of(request).precision(),
          .a_stride = d_dst_stride(request)};
}

using Planned = std::shared_ptr<const PlannedMatmul>;

Planned plan(const KernelRequest& request, const MatmulProblem& problem) {
  Context& context = context_of(request);
  return context.matmuls().find(context, problem);
}

// Plans bias and activation into the product where cuBLASLt can apply them, else neither.
Planned forward_plan(const KernelRequest& request) {
  MatmulProblem problem = forward_problem(request);
  const ops::Activation activation = request.node.attrs<ops::DenseAttrs>().activation.kind;
  const bool bias = request.node.inputs() == 3, relu = activation == ops::Activation::relu;
  if (relu || activation == ops::Activation::none) {
    problem.epilogue = bias   ? (relu ? Epilogue::relu_bias : Epilogue::bias)
                       : relu ? Epilogue::relu
                              : Epilogue::none;
    if (Planned fused = plan(request, problem)) return fused;
    problem.bias_type = problem.dtype;
    if (Planned fused = bias && problem.dtype != DType::f32 ? plan(request, problem) : nullptr) return fused;
  }
  problem.epilogue = Epilogue::none;
  problem.bias_type = DType::f32;
  return plan(request, problem);
}

// Makes d_bias along with d_weight.
Planned d_weight_and_bias_plan(const KernelRequest& request) {
  MatmulProblem problem = d_weight_problem(request);
  problem.epilogue = Epilogue::sum_of_a;
  if (Planned fused = plan(request, problem)) return fused;
  problem.bias_type = problem.dtype;
  return problem.dtype == DType::f32 ? nullptr : plan(request, problem);
}

Planned d_src_plan(const KernelRequest& request) { return plan(request, d_src_problem(request)); }
Planned d_weight_plan(const KernelRequest& request) { return plan(request, d_weight_problem(request)); }

using PlanOf = Planned (*)(const KernelRequest&);

// A MatmulKernel is one product of cuBLASLt, and what each op has before or after it. A bias in bf16 lies in
// the workspace, where its own type is f32.
class MatmulKernel : public Kernel {
 public:
  MatmulKernel(const KernelRequest& request, PlanOf plan_of)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        planned_(plan_of(request)),
        matmul_(device_, planned_) {
    const MatmulProblem& problem = planned_->problem;
    if (problem.bias_type == DType::bf16)
      bf16_bias_bytes_ =
          align_up(static_cast<std::size_t>(std::max(problem.m, problem.n)) * size_of(DType::bf16));
    io_.workspace_bytes = bf16_bias_bytes_ + matmul_.workspace_bytes();
  }
  std::string choice() const override { return matmul_.tuned().to_string(); }
  std::vector<Alternative> alternatives() const override { return matmul_.tuned().slower; }

 protected:
  void bind_matmul(const std::byte* a, const std::byte* b, std::byte* dst, std::byte* bias,
                   std::byte* workspace) {
    bias_ = reinterpret_cast<float*>(bias);
    bf16_bias_ = bf16_bias_bytes_ == 0 ? nullptr : reinterpret_cast<__nv_bfloat16*>(workspace);
    matmul_.bind(a, b, dst, bf16_bias_ == nullptr ? bias : workspace, workspace + bf16_bias_bytes_);
  }

  graph::NodeView node_;
  Context& device_;
  Planned planned_;
  Matmul matmul_;
  std::size_t bf16_bias_bytes_ = 0;
  float* bias_ = nullptr;
  __nv_bfloat16* bf16_bias_ = nullptr;
};

class Forward final : public MatmulKernel {
 public:
  explicit Forward(const KernelRequest& request) : MatmulKernel(request, forward_plan) {
    const ops::Activation activation = node_.attrs<ops::DenseAttrs>().activation.kind;
    epilogue_apart_ = planned_->problem.epilogue == Epilogue::none &&
                      (node_.inputs() == 3 || activation != ops::Activation::none);
  }
  void bind(const Binding& binding) override {
    dst_ = binding.outputs[0];
    bind_matmul(binding.inputs[0], binding.inputs[1], dst_, node_.inputs() == 3 ? binding.inputs[2] : nullptr,
                binding.workspace);
  }
  void run(const StepContext&) override {
    const Shape& shape = node_.output_shape(0);
    if (bf16_bias_ != nullptr) device::convert(device_.stream(), bias_, bf16_bias_, shape[1]);
    matmul_.run();
    if (!epilogue_apart_) return;
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::bias_activation(device_.stream(), to_device(node_.attrs<ops::DenseAttrs>().activation), bias_,
                              reinterpret_cast<T*>(dst_), shape[0], shape[1]);
    });
  }

 private:
  bool epilogue_apart_;
  std::byte* dst_ = nullptr;
};

class DSrc final : public MatmulKernel {
 public:
  explicit DSrc(const KernelRequest& request) : MatmulKernel(request, d_src_plan) {
    io_.inputs[0] = d_dst_layout(request);
  }
  void bind(const Binding& binding) override {
    bind_matmul(binding.inputs[0], binding.inputs[1], binding.outputs[0], nullptr, binding.workspace);
  }
  void run(const StepContext&) override { matmul_.run(); }
};

class DWeight final : public MatmulKernel {
 public:
  DWeight(const KernelRequest& request, PlanOf plan_of) : MatmulKernel(request, plan_of) {
    io_.inputs[0] = d_dst_layout(request);
  }
  void bind(const Binding& binding) override {
    d_dst_ = binding.inputs[0];
    bind_matmul(d_dst_, binding.inputs[1], binding.outputs[0],
                node_.outputs() == 2 ? binding.outputs[1] : nullptr, binding.workspace);
  }
  void run(const StepContext&) override {
    const Shape& shape = node_.input_shape(0);
    matmul_.run();
    if (bf16_bias_ != nullptr) device::convert(device_.stream(), bf16_bias_, bias_, shape[1]);
    if (bias_ == nullptr || planned_->problem.epilogue != Epilogue::none) return;
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::channel_sum(device_.stream(), reinterpret_cast<const T*>(d_dst_), bias_, shape[0], shape[1]);
    });
  }

 private:
  std::byte* d_dst_ = nullptr;
};

template <PlanOf plan_of>
Decision accept(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (plan_of(request) == nullptr) return Decision::no("cuBLASLt has no algorithm for it");
  return Decision::yes();
}

Decision accept_d_weight_and_bias(const KernelRequest& request) {
  if (!request.node.attrs<ops::DenseGradAttrs>().bias) return Decision::no("there is no bias");
  return accept<d_weight_and_bias_plan>(request);
}

// Simple loops, for what cuBLASLt does not take.
template <PlanOf plan_of>
Decision accept_plain(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  return accept<plan_of>(request).accepted() ? Decision::no("cuBLASLt takes it") : Decision::yes();
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make_plain(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

template <typename DenseKernel>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<DenseKernel>(request);
}

template <PlanOf plan_of>
std::unique_ptr<Kernel> make_d_weight(const KernelRequest& request) {
  return std::make_unique<DWeight>(request, plan_of);
}

}  // namespace

void dense_plain(const Launch& at) {
  const std::int64_t batch = at.node.output_shape(0)[0], outputs = at.node.output_shape(0)[1],
                     inputs = at.node.input_shape(1).elements_from(1);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::plain_product<T>(at.stream(), {batch, outputs, inputs, inputs, 1, 1, inputs}, at.input<T>(0),
                             at.input<T>(1), at.output<T>(0));
    device::bias_activation(at.stream(), to_device(at.node.attrs<ops::DenseAttrs>().activation),
                            at.node.inputs() == 3 ? at.input<float>(2) : nullptr, at.output<T>(0), batch,
                            outputs);
  });
}

void dense_d_src_plain(const Launch& at) {
  const std::int64_t batch = at.node.input_shape(0)[0], outputs = at.node.input_shape(0)[1],
                     inputs = at.node.input_shape(1).elements_from(1);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::plain_product<T>(at.stream(), {batch, inputs, outputs, outputs, 1, inputs, 1}, at.input<T>(0),
                             at.input<T>(1), at.output<T>(0));
  });
}

void dense_d_weight_plain(const Launch& at) {
  const std::int64_t batch = at.node.input_shape(0)[0], outputs = at.node.input_shape(0)[1],
                     inputs = at.node.input_shape(1).elements_from(1);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::plain_product<T>(at.stream(), {outputs, inputs, batch, 1, outputs, inputs, 1}, at.input<T>(0),
                             at.input<T>(1), at.output<T>(0));
    if (at.node.attrs<ops::DenseGradAttrs>().bias)
      device::channel_sum(at.stream(), at.input<T>(0), at.output<float>(1), batch, outputs);
  });
}

namespace {

using device::NarrowDense;

// dst (N, O) and weight or src (.., K)
NarrowDense sizes_of(const Shape& dst, const Shape& operand) {
  return {dst[0], operand.elements_from(1), static_cast<int>(dst[1])};
}

void forward(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::dense_narrow(at.stream(), sizes_of(at.node.output_shape(0), at.node.input_shape(1)),
                         at.input<T>(0), at.input<T>(1), at.node.inputs() == 3 ? at.input<float>(2) : nullptr,
                         to_device(at.node.attrs<ops::DenseAttrs>().activation), at.output<T>(0));
  });
}

void d_src(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::dense_d_src_narrow(at.stream(), sizes_of(at.node.input_shape(0), at.node.input_shape(1)),
                               at.input<T>(0), at.input<T>(1), at.output<T>(0));
  });
}

void d_weight(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::dense_d_weight_narrow(at.stream(), sizes_of(at.node.input_shape(0), at.node.input_shape(1)),
                                  at.input<T>(0), at.input<T>(1), at.output<T>(0),
                                  at.node.attrs<ops::DenseGradAttrs>().bias ? at.output<float>(1) : nullptr);
  });
}

Decision accept(const KernelRequest& request, const Shape& dst) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (dst[1] > NarrowDense::kMostOutputs) return Decision::no("made for at most 32 outputs");
  if (dst[0] == 0) return Decision::no("there is no batch");
  return Decision::yes();
}

Decision accept_forward(const KernelRequest& request) {
  return accept(request, request.node.output_shape(0));
}
Decision accept_gradient(const KernelRequest& request) {
  return accept(request, request.node.input_shape(0));
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

}  // namespace

std::vector<Candidate> dense_candidates() {
  return {{&ops::dense_op, "cublaslt:dense", accept<forward_plan>, make<Forward>},
          {&ops::dense_d_src_op, "cublaslt:dense_d_src", accept<d_src_plan>, make<DSrc>},
          {&ops::dense_d_weight_op, "cublaslt:dense_d_weight", accept<d_weight_plan>,
           make_d_weight<d_weight_plan>},
          {&ops::dense_d_weight_op, "cublaslt:dense_d_weight_and_bias", accept_d_weight_and_bias,
           make_d_weight<d_weight_and_bias_plan>},
          {&ops::dense_op, "own:dense_plain", accept_plain<forward_plan>, make_plain<dense_plain>},
          {&ops::dense_d_src_op, "own:dense_d_src_plain", accept_plain<d_src_plan>,
           make_plain<dense_d_src_plain>},
          {&ops::dense_d_weight_op, "own:dense_d_weight_plain", accept_plain<d_weight_plan>,
           make_plain<dense_d_weight_plain>},
          {&ops::dense_op, "own:dense_narrow", accept_forward, make<forward>},
          {&ops::dense_d_src_op, "own:dense_d_src_narrow", accept_gradient, make<d_src>},
          {&ops::dense_d_weight_op, "own:dense_d_weight_narrow", accept_gradient, make<d_weight>}};
}

}  // namespace trainyard::backend::cuda
