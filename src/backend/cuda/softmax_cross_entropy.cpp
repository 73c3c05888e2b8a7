#include "ops/softmax_cross_entropy.h"

#include "backend/cuda/counter.h"
#include "backend/cuda/device/softmax_cross_entropy.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

device::CrossEntropyLabels labels_of(const graph::NodeView& node, const Binding& binding, int input) {
  const std::byte* memory = binding.inputs[static_cast<std::size_t>(input)];
  const bool integers = node.input(input).type.dtype == DType::i32;
  return {integers ? reinterpret_cast<const std::int32_t*>(memory) : nullptr,
          integers ? nullptr : reinterpret_cast<const float*>(memory),
          static_cast<float>(node.attrs<ops::SoftmaxCrossEntropyAttrs>().label_smoothing)};
}

// The losses of the rows lie in the workspace, and the last block to finish adds them up.
class CrossEntropyKernel final : public Kernel {
 public:
  CrossEntropyKernel(const KernelRequest& request, KernelIo io)
      : Kernel(std::move(io)), node_(request.node), device_(context_of(request)), counter_(device_) {}
  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    const Launch launch{node_, io_, binding_, device_};
    const Shape& shape = node_.input_shape(0);
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::softmax_cross_entropy(
          launch.stream(), {shape[0], shape[1]}, launch.input<T>(0), labels_of(node_, binding_, 1),
          launch.output<float>(0), launch.output<float>(1),
          node_.outputs() > 2 ? launch.output<T>(2) : nullptr, launch.workspace<float>(), counter_.get());
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  Counter counter_;
  Binding binding_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes = static_cast<std::size_t>(request.node.input_shape(0)[0]) * sizeof(float);
  return std::make_unique<CrossEntropyKernel>(request, std::move(io));
}

void grad(const Launch& launch) {
  const Shape& shape = launch.node.input_shape(1);
  with_float_type(launch.node.output(0).type.dtype, [&]<typename T>() {
    device::softmax_cross_entropy_grad(launch.stream(), {shape[0], shape[1]}, launch.input<float>(0),
                                       launch.input<float>(1), labels_of(launch.node, launch.memory, 2),
                                       launch.output<T>(0));
  });
}

std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  if (request.node.output(0).type.dtype == DType::f32) io.in_place = {{0, 1}};
  return std::make_unique<LaunchKernel>(request, std::move(io), grad);
}

}  // namespace

std::vector<Candidate> softmax_cross_entropy_candidates() {
  return {
      {&ops::softmax_cross_entropy_op, "own:softmax_cross_entropy", want_device_floats, make},
      {&ops::softmax_cross_entropy_grad_op, "own:softmax_cross_entropy_grad", want_device_floats, make_grad}};
}

}  // namespace trainyard::backend::cuda
