#include "ops/update.h"

#include "backend/cuda/runtime/chunk_table.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "backend/cuda/update/update_kernels.h"

namespace trainyard::backend::cuda {
namespace {

class UpdateKernel final : public Kernel {
 public:
  UpdateKernel(const KernelRequest& request, KernelIo io)
      : Kernel(std::move(io)), node_(request.node), device_(context_of(request)) {}

  void bind(const Binding& binding) override {
    const auto& attrs = node_.attrs<ops::UpdateAttrs>();
    const int slots = attrs.slots(), count = ops::updated_parameters(node_);
    auto copy = static_cast<std::size_t>(node_.inputs() - attrs.rounded_copies);
    context_ = binding.context;
    late_ = binding.late;
    scheduled_ = io_.workspace_bytes > 0 ? reinterpret_cast<float*>(binding.workspace) : nullptr;
    std::vector<device::UpdateTensor> tensors;
    for (int i = 0; i < count; ++i) {
      const auto memory = [&](int group) {
        return reinterpret_cast<float*>(binding.inputs[static_cast<std::size_t>(group * count + i)]);
      };
      device::UpdateTensor tensor{.parameter = memory(0),
                                  .gradient = memory(1),
                                  .slots = {},
                                  .elements = node_.input_shape(i).elements(),
                                  .first_chunk = 0,
                                  .gradient_is_bf16 = node_.input(count + i).type.dtype == DType::bf16};
      for (int s = 0; s < slots; ++s) tensor.slots[s] = memory(2 + s);
      if (copy < binding.inputs.size() && node_.input_shape(i).rank() >= 2)
        tensor.rounded = binding.inputs[copy++];
      tensors.push_back(tensor);
    }
    table_.fill(device_, std::move(tensors));
  }

  void run(const StepContext&) override {
    // Late, two blocks on every multiprocessor leave room for what is urgent.
    const int blocks = late_ ? 2 * device_.properties().multiProcessorCount : 0;
    const auto& attrs = node_.attrs<ops::UpdateAttrs>();
    device::make_scheduled_rate(device_.stream(), attrs, context_, scheduled_);
    device::update(device_.stream(), attrs, context_, scheduled_, table_.chunks(), blocks);
  }

 private:
  graph::NodeView node_;
  Context& device_;
  const StepContext* context_ = nullptr;
  bool late_ = false;
  float* scheduled_ = nullptr;
  ChunkTable<device::UpdateTensor> table_;
};

// Gradients and slots take the layout their parameter already has.
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const int count = ops::updated_parameters(node);
  const int tensors = node.inputs() - node.attrs<ops::UpdateAttrs>().rounded_copies;
  KernelIo io;
  for (int i = 0; i < tensors; ++i) io.inputs.push_back(present_or_natural_layout(request, i % count));
  for (int i = 0; i < count && static_cast<int>(io.inputs.size()) < node.inputs(); ++i)
    if (node.input_shape(i).rank() >= 2) io.inputs.push_back(io.inputs[static_cast<std::size_t>(i)]);
  if (!node.attrs<ops::UpdateAttrs>().schedule.is_constant()) io.workspace_bytes = sizeof(float);
  return std::make_unique<UpdateKernel>(request, std::move(io));
}

}  // namespace

std::vector<Candidate> update_candidates() {
  return {{&ops::update_op, "own:update", want_device_floats, make}};
}

}  // namespace trainyard::backend::cuda
