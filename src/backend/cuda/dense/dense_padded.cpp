#include "backend/cuda/dense/dense.h"
#include "backend/cuda/dense/matmul.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "backend/cuda/runtime/padded_rows.h"
#include "ops/dense.h"
#include "ops/loss.h"

// Logits over a vocabulary of odd size, written in padded rows: so the loss and its gradient leave them, and
// the three products of this layer run at full speed.
namespace trainyard::backend::cuda {
namespace {

// src (N, K), weight (O, K), dst (N, O)
MatmulProblem problem_of(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const Shape& dst = node.output_shape(0);
  return {.m = dst[0],
          .n = dst[1],
          .k = node.input_shape(1).elements_from(1),
          .b_transposed = true,
          .dtype = node.dtype(),
          .precision = context_of(request).precision(),
          .dst_stride = row_stride(padded_rows(), dst)};
}

std::shared_ptr<const PlannedMatmul> plan(const KernelRequest& request) {
  Context& context = context_of(request);
  return context.matmuls().find(context, problem_of(request));
}

// Returns whether every reader of a value is one of `ops`, and there is one.
bool read_by(const graph::Graph& graph, graph::ValueId value,
             std::initializer_list<const graph::OpDef*> ops) {
  bool read = false;
  for (const graph::Node& node : graph.nodes())
    if (std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end()) {
      if (std::find(ops.begin(), ops.end(), node.op) == ops.end()) return false;
      read = true;
    }
  return read;
}

// Whoever else reads the logits or their gradient would have a plain copy made.
bool stays_in_padded_rows(const graph::Graph& graph, graph::ValueId logits) {
  const std::vector<graph::ValueId>& outputs = graph.outputs();
  const auto is_output = [&](graph::ValueId value) {
    return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
  };
  if (is_output(logits) ||
      !read_by(graph, logits, {&ops::sequence_cross_entropy_op, &ops::sequence_cross_entropy_grad_op}))
    return false;
  return std::all_of(graph.nodes().begin(), graph.nodes().end(), [&](const graph::Node& node) {
    if (node.op != &ops::sequence_cross_entropy_grad_op || node.inputs[1] != logits) return true;
    const graph::ValueId gradient = node.outputs[0];
    return !is_output(gradient) && read_by(graph, gradient, {&ops::dense_d_src_op, &ops::dense_d_weight_op});
  });
}

}  // namespace

Decision want_padded_output(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (!padding_pays(node.output(0).type)) return Decision::no("its rows need no padding, or are short");
  if (node.inputs() == 3 || node.attrs<ops::DenseAttrs>().activation.kind != ops::Activation::none)
    return Decision::no("has neither bias nor activation");
  if (!stays_in_padded_rows(node.graph(), node.node().outputs[0]))
    return Decision::no("its output is read by more than a loss of sequences");
  return Decision::yes();
}

namespace {

Decision accept(const KernelRequest& request) {
  if (Decision padded = want_padded_output(request); !padded.accepted()) return padded;
  if (plan(request) == nullptr) return Decision::no("cuBLASLt has no algorithm for it");
  return Decision::yes();
}

class PaddedForward final : public Kernel {
 public:
  explicit PaddedForward(const KernelRequest& request)
      : Kernel(natural_io(request.node)),
        device_(context_of(request)),
        planned_(plan(request)),
        matmul_(device_, planned_) {
    io_.outputs[0] = padded_rows();
    io_.workspace_bytes = matmul_.workspace_bytes();
  }
  std::string choice() const override { return matmul_.tuned().to_string(); }
  std::vector<Alternative> alternatives() const override { return matmul_.tuned().slower; }

  void bind(const Binding& binding) override {
    dst_ = binding.outputs[0];
    matmul_.bind(binding.inputs[0], binding.inputs[1], dst_, nullptr, binding.workspace);
  }

  void run(const StepContext&) override {
    const MatmulProblem& problem = planned_->problem;
    const std::size_t element = size_of(problem.dtype);
    const auto bytes = [&](std::int64_t numbers) { return static_cast<std::size_t>(numbers) * element; };
    TRAINYARD_CUDA(cudaMemset2DAsync(dst_ + bytes(problem.n), bytes(problem.dst_stride), 0,
                                     bytes(problem.dst_stride - problem.n),
                                     static_cast<std::size_t>(problem.m), device_.stream()));
    matmul_.run();
  }

 private:
  Context& device_;
  std::shared_ptr<const PlannedMatmul> planned_;
  Matmul matmul_;
  std::byte* dst_ = nullptr;
};

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<PaddedForward>(request);
}

}  // namespace

std::vector<Candidate> dense_padded_candidates() {
  return {{&ops::dense_op, "cublaslt:dense_padded", accept, make}};
}

}  // namespace trainyard::backend::cuda
