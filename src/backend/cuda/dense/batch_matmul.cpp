#include "ops/matmul.h"

#include "backend/cuda/dense/dense_kernels.h"
#include "backend/cuda/dense/matmul.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

MatmulProblem problem_of(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::MatmulAttrs>();
  const Shape &a = node.input_shape(0), &dst = node.output_shape(0);
  const int rank = dst.rank();
  return {.m = dst[rank - 2],
          .n = dst[rank - 1],
          .k = a[attrs.transpose_a ? rank - 2 : rank - 1],
          .a_transposed = attrs.transpose_a,
          .b_transposed = attrs.transpose_b,
          .dtype = node.dtype(),
          .precision = context_of(request).precision(),
          .batch = dst.elements() / dst.elements_from(rank - 2)};
}

std::shared_ptr<const PlannedMatmul> plan(const KernelRequest& request) {
  Context& context = context_of(request);
  return context.matmuls().find(context, problem_of(request));
}

Decision want_one_type(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (request.node.input(1).type.dtype != request.node.dtype())
    return Decision::no("multiplies matrices of one type");
  return Decision::yes();
}

Decision accept(const KernelRequest& request) {
  if (Decision types = want_one_type(request); !types.accepted()) return types;
  const Shape& dst = request.node.output_shape(0);
  if (dst.elements() == 0 || request.node.input_shape(0).elements() == 0)
    return Decision::no("there is nothing to multiply");
  if (problem_of(request).batch > std::numeric_limits<std::int32_t>::max())
    return Decision::no("cuBLASLt counts matrices in 32 bits");
  return plan(request) == nullptr ? Decision::no("cuBLASLt has no algorithm for it") : Decision::yes();
}

// Simple loops, for what cuBLASLt does not take.
Decision accept_plain(const KernelRequest& request) {
  if (Decision types = want_one_type(request); !types.accepted()) return types;
  return accept(request).accepted() ? Decision::no("cuBLASLt takes it") : Decision::yes();
}

// Matrices lie row by row, whatever the rank says of images.
class BatchMatmul final : public Kernel {
 public:
  explicit BatchMatmul(const KernelRequest& request)
      : Kernel(plain_io(request.node)), matmul_(context_of(request), plan(request)) {
    io_.workspace_bytes = matmul_.workspace_bytes();
  }
  std::string choice() const override { return matmul_.tuned().to_string(); }
  std::vector<Alternative> alternatives() const override { return matmul_.tuned().slower; }
  void bind(const Binding& binding) override {
    matmul_.bind(binding.inputs[0], binding.inputs[1], binding.outputs[0], nullptr, binding.workspace);
  }
  void run(const StepContext&) override { matmul_.run(); }

 private:
  Matmul matmul_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request) { return std::make_unique<BatchMatmul>(request); }

void multiply(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::MatmulAttrs>();
  const Shape &a = at.node.input_shape(0), &dst = at.node.output_shape(0);
  const int rank = dst.rank();
  const std::int64_t m = dst[rank - 2], n = dst[rank - 1], k = a[attrs.transpose_a ? rank - 2 : rank - 1];
  const device::PlainProduct product{.m = m,
                                     .n = n,
                                     .k = k,
                                     .a_row = attrs.transpose_a ? 1 : k,
                                     .a_inner = attrs.transpose_a ? m : 1,
                                     .b_inner = attrs.transpose_b ? 1 : n,
                                     .b_column = attrs.transpose_b ? k : 1,
                                     .batch = m * n == 0 ? 0 : dst.elements() / (m * n)};
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::plain_product<T>(at.stream(), product, at.input<T>(0), at.input<T>(1), at.output<T>(0));
  });
}

std::unique_ptr<Kernel> make_plain(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, plain_io(request.node), multiply);
}

}  // namespace

std::vector<Candidate> batch_matmul_candidates() {
  return {{&ops::matmul_op, "cublaslt:matmul", accept, make},
          {&ops::matmul_op, "own:matmul_plain", accept_plain, make_plain}};
}

}  // namespace trainyard::backend::cuda
