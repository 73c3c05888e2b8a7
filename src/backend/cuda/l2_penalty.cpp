#include "ops/l2_penalty.h"

#include "backend/cuda/chunk_table.h"
#include "backend/cuda/counter.h"
#include "backend/cuda/device/l2_penalty.h"
#include "backend/cuda/device/scale.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

float coefficient_of(const graph::NodeView& node) {
  return static_cast<float>(node.attrs<ops::L2PenaltyAttrs>().coefficient);
}

class PenaltyKernel final : public Kernel {
 public:
  PenaltyKernel(const KernelRequest& request, KernelIo io)
      : Kernel(std::move(io)), node_(request.node), device_(context_of(request)), counter_(device_) {}

  void bind(const Binding& binding) override {
    binding_ = binding;
    std::vector<device::PenaltyTensor> tensors;
    for (int i = 0; i < node_.inputs(); ++i)
      tensors.push_back({.weight = binding.inputs[static_cast<std::size_t>(i)],
                         .elements = node_.input_shape(i).elements(),
                         .first_chunk = 0,
                         .is_bf16 = node_.input(i).type.dtype == DType::bf16});
    table_.fill(device_, std::move(tensors));
  }

  void run(const StepContext&) override {
    const Launch launch{node_, io_, binding_, device_};
    with_float_type(node_.output(0).type.dtype, [&]<typename T>() {
      device::l2_penalty(launch.stream(), table_.chunks(), coefficient_of(node_) / 2,
                         launch.workspace<float>(), counter_.get(), launch.output<T>(0));
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  Counter counter_;
  ChunkTable<device::PenaltyTensor> table_;
  Binding binding_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  for (int i = 0; i < request.node.inputs(); ++i)
    io.inputs[static_cast<std::size_t>(i)] = present_or_natural_layout(request, i);
  io.workspace_bytes = device::kMaxPenaltyParts * sizeof(float);
  return std::make_unique<PenaltyKernel>(request, std::move(io));
}

void grad(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::scale_by(launch.stream(), coefficient_of(launch.node), launch.input<T>(0), launch.input<T>(1),
                     launch.output<T>(0), launch.node.output_shape(0).elements());
  });
}

// The gradient lies as its weight does.
std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.inputs[1] = io.outputs[0] = present_or_natural_layout(request, 1);
  io.in_place = {{0, 1}};
  return std::make_unique<LaunchKernel>(request, std::move(io), grad);
}

}  // namespace

std::vector<Candidate> l2_penalty_candidates() {
  return {{&ops::l2_penalty_op, "own:l2_penalty", want_device_floats, make},
          {&ops::l2_penalty_grad_op, "own:l2_penalty_grad", want_device_floats, make_grad}};
}

}  // namespace trainyard::backend::cuda
