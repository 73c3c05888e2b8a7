#include "ops/update.h"

#include "backend/cuda/runtime/chunk_table.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "backend/cuda/update/update_kernels.h"

namespace trainyard::backend::cuda {
namespace {

constexpr int kFirstSum = 2;  // numbers of the workspace before it

std::size_t workspace_bytes_of(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::UpdateAttrs>();
  if (attrs.clip_norm <= 0) return attrs.schedule.is_constant() ? 0 : sizeof(float);
  std::int64_t sums = 0;
  for (int i = 0; i < ops::updated_parameters(node); ++i)
    sums += (node.input_shape(i).elements() + device::kChunkElements - 1) / device::kChunkElements;
  return static_cast<std::size_t>(kFirstSum + sums) * sizeof(float);
}

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
    // The workspace holds the rate, the factor and, where gradients are clipped, a sum for each chunk.
    auto* numbers = reinterpret_cast<float*>(binding.workspace);
    scheduled_ = attrs.schedule.is_constant() ? nullptr : numbers;
    clip_factor_ = attrs.clip_norm > 0 ? numbers + 1 : nullptr;
    clip_sums_ = numbers + kFirstSum;
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
                                  .gradient_is_bf16 = node_.input(count + i).type.dtype == DType::bf16,
                                  .decays = ops::decays(attrs, node_.input_shape(i))};
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
    device::make_clip_factor(device_.stream(), attrs, table_.chunks(), clip_sums_, clip_factor_, blocks);
    device::update(device_.stream(), attrs, context_, scheduled_, clip_factor_, table_.chunks(), blocks);
  }

 private:
  graph::NodeView node_;
  Context& device_;
  const StepContext* context_ = nullptr;
  bool late_ = false;
  float *scheduled_ = nullptr, *clip_factor_ = nullptr, *clip_sums_ = nullptr;
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
  io.workspace_bytes = workspace_bytes_of(node);
  return std::make_unique<UpdateKernel>(request, std::move(io));
}

class AccumulateKernel final : public Kernel {
 public:
  AccumulateKernel(const KernelRequest& request, KernelIo io)
      : Kernel(std::move(io)), node_(request.node), device_(context_of(request)) {}

  void bind(const Binding& binding) override {
    context_ = binding.context;
    const int count = node_.inputs() / 3;
    const auto memory = [&](int input) { return binding.inputs[static_cast<std::size_t>(input)]; };
    std::vector<device::AccumulateTensor> tensors;
    for (int i = 0; i < count; ++i)
      tensors.push_back({.gradient = memory(count + i),
                         .sum = reinterpret_cast<float*>(memory(2 * count + i)),
                         .elements = node_.input_shape(i).elements(),
                         .first_chunk = 0,
                         .gradient_is_bf16 = node_.input(count + i).type.dtype == DType::bf16});
    table_.fill(device_, std::move(tensors));
  }

  void run(const StepContext&) override {
    device::accumulate(device_.stream(), node_.attrs<ops::AccumulateAttrs>().micro_batches, context_,
                       table_.chunks());
  }

 private:
  graph::NodeView node_;
  Context& device_;
  const StepContext* context_ = nullptr;
  ChunkTable<device::AccumulateTensor> table_;
};

std::unique_ptr<Kernel> make_accumulate(const KernelRequest& request) {
  KernelIo io;
  for (int i = 0; i < request.node.inputs(); ++i)
    io.inputs.push_back(present_or_natural_layout(request, i % (request.node.inputs() / 3)));
  return std::make_unique<AccumulateKernel>(request, std::move(io));
}

}  // namespace

std::vector<Candidate> update_candidates() {
  return {{&ops::update_op, "own:update", want_device_floats, make},
          {&ops::accumulate_op, "own:accumulate", want_device_floats, make_accumulate}};
}

}  // namespace trainyard::backend::cuda
