#include "backend/cuda/dense/dense.h"
#include "backend/cuda/dense/matmul.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "backend/cuda/runtime/padded_rows.h"
#include "ops/dense.h"

// The products of a wide layer in padded rows, padding included: then every extent suits the matrix units,
// too, not only the distance of rows. The weights, or their gradient, lie in the workspace with some rows
// more; to copy them takes a small part of the time of such a product.
namespace trainyard::backend::cuda {
namespace {

// The axes of the three products: outputs are counted with their padding.
struct Sizes {
  std::int64_t batch, outputs, padded_outputs, inputs;
};

Sizes sizes_of(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const bool forward = node.node().op == &ops::dense_op;
  const Shape& dst = forward ? node.output_shape(0) : node.input_shape(0);
  return {dst[0], dst[1], row_stride(padded_rows(), dst), node.input_shape(1).elements_from(1)};
}

MatmulProblem problem_of(const KernelRequest& request) {
  const Sizes sizes = sizes_of(request);
  MatmulProblem problem{.m = sizes.batch,
                        .n = sizes.padded_outputs,
                        .k = sizes.inputs,
                        .b_transposed = true,
                        .dtype = request.node.dtype(),
                        .precision = context_of(request).precision()};
  if (request.node.node().op == &ops::dense_op) return problem;
  problem.n = sizes.inputs;
  problem.b_transposed = false;
  problem.a_transposed = request.node.node().op == &ops::dense_d_weight_op;
  problem.m = problem.a_transposed ? sizes.padded_outputs : sizes.batch;
  problem.k = problem.a_transposed ? sizes.batch : sizes.padded_outputs;
  return problem;
}

std::shared_ptr<const PlannedMatmul> plan(const KernelRequest& request) {
  Context& context = context_of(request);
  return context.matmuls().find(context, problem_of(request));
}

class WholeRows final : public Kernel {
 public:
  explicit WholeRows(const KernelRequest& request)
      : Kernel(natural_io(request.node)),
        device_(context_of(request)),
        matmul_(device_, plan(request)),
        makes_weights_(request.node.node().op == &ops::dense_d_weight_op) {
    const bool forward = request.node.node().op == &ops::dense_op;
    (forward ? io_.outputs : io_.inputs)[0] = padded_rows();
    const Sizes sizes = sizes_of(request);
    const std::size_t row = static_cast<std::size_t>(sizes.inputs) * size_of(request.node.dtype());
    weight_bytes_ = static_cast<std::size_t>(sizes.outputs) * row;
    padded_bytes_ = static_cast<std::size_t>(sizes.padded_outputs) * row;
    io_.workspace_bytes = align_up(padded_bytes_) + matmul_.workspace_bytes();
  }
  std::string choice() const override { return matmul_.tuned().to_string(); }
  std::vector<Alternative> alternatives() const override { return matmul_.tuned().slower; }

  void bind(const Binding& binding) override {
    padded_ = binding.workspace;
    weight_ = makes_weights_ ? binding.outputs[0] : binding.inputs[1];
    std::byte* rest = binding.workspace + align_up(padded_bytes_);
    if (makes_weights_)
      matmul_.bind(binding.inputs[0], binding.inputs[1], padded_, nullptr, rest);
    else
      matmul_.bind(binding.inputs[0], padded_, binding.outputs[0], nullptr, rest);
  }

  // Rows of zeros behind the weights make the padding of dst zeros; what d_dst has there are zeros already.
  void run(const StepContext&) override {
    const cudaStream_t stream = device_.stream();
    if (!makes_weights_) {
      TRAINYARD_CUDA(cudaMemcpyAsync(padded_, weight_, weight_bytes_, cudaMemcpyDeviceToDevice, stream));
      TRAINYARD_CUDA(cudaMemsetAsync(padded_ + weight_bytes_, 0, padded_bytes_ - weight_bytes_, stream));
    }
    matmul_.run();
    if (makes_weights_)
      TRAINYARD_CUDA(cudaMemcpyAsync(weight_, padded_, weight_bytes_, cudaMemcpyDeviceToDevice, stream));
  }

 private:
  Context& device_;
  Matmul matmul_;
  bool makes_weights_;
  std::size_t weight_bytes_ = 0, padded_bytes_ = 0;
  std::byte *padded_ = nullptr, *weight_ = nullptr;
};

Decision accept_forward(const KernelRequest& request) {
  if (Decision padded = want_padded_output(request); !padded.accepted()) return padded;
  if (plan(request) == nullptr) return Decision::no("cuBLASLt has no algorithm for it");
  return Decision::yes();
}

Decision accept_gradient(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (request.node.attrs<ops::DenseGradAttrs>().bias) return Decision::no("makes no gradient of a bias");
  if (!(request.inputs[0] == padded_rows())) return Decision::no("takes padded rows only");
  if (plan(request) == nullptr) return Decision::no("cuBLASLt has no algorithm for it");
  return Decision::yes();
}

std::unique_ptr<Kernel> make(const KernelRequest& request) { return std::make_unique<WholeRows>(request); }

}  // namespace

std::vector<Candidate> dense_whole_rows_candidates() {
  return {{&ops::dense_op, "cublaslt:dense_whole_rows", accept_forward, make},
          {&ops::dense_d_src_op, "cublaslt:dense_d_src_whole_rows", accept_gradient, make},
          {&ops::dense_d_weight_op, "cublaslt:dense_d_weight_whole_rows", accept_gradient, make}};
}

}  // namespace trainyard::backend::cuda
