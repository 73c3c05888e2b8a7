#include "ops/sequence_cross_entropy.h"

#include "backend/cuda/counter.h"
#include "backend/cuda/device/sequence_cross_entropy.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

// `labels`: the input of that name, (T, N).
device::SequenceShape shape_of(const graph::NodeView& node, int labels) {
  const Shape& steps = node.input_shape(labels);
  return {steps[0], steps[1], node.input_shape(labels - 1).elements() / steps.elements()};
}

// The losses of the rows lie in the workspace, and the last block to finish adds them up.
class SequenceCrossEntropy final : public Kernel {
 public:
  explicit SequenceCrossEntropy(const KernelRequest& request)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        counter_(device_) {
    io_.workspace_bytes = static_cast<std::size_t>(node_.input_shape(1).elements()) * sizeof(float);
  }
  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    const Launch at{node_, io_, binding_, device_};
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::sequence_cross_entropy<T>(at.stream(), shape_of(node_, 1), at.input<T>(0),
                                        {at.input<std::int32_t>(1), at.input<std::int32_t>(2)},
                                        at.output<float>(0), at.output<float>(1), at.workspace<float>(),
                                        counter_.get());
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  Counter counter_;
  Binding binding_;
};

void gradient(const Launch& at) {
  with_float_type(at.node.output(0).type.dtype, [&]<typename T>() {
    device::sequence_cross_entropy_grad<T>(
        at.stream(), shape_of(at.node, 2), at.input<float>(0), at.input<float>(1),
        {at.input<std::int32_t>(2), at.input<std::int32_t>(3)}, at.output<T>(0));
  });
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<SequenceCrossEntropy>(request);
}

std::unique_ptr<Kernel> make_gradient(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), gradient);
}

}  // namespace

std::vector<Candidate> sequence_cross_entropy_candidates() {
  return {{&ops::sequence_cross_entropy_op, "own:sequence_cross_entropy", want_device_floats, make},
          {&ops::sequence_cross_entropy_grad_op, "own:sequence_cross_entropy_grad", want_device_floats,
           make_gradient}};
}

}  // namespace trainyard::backend::cuda
