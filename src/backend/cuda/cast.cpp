#include "ops/cast.h"

#include "backend/cuda/chunk_table.h"
#include "backend/cuda/device/cast.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"
#include "backend/cuda/walk.h"

namespace trainyard::backend::cuda {
namespace {

class CastKernel final : public Kernel {
 public:
  CastKernel(const KernelRequest& request, KernelIo io)
      : Kernel(std::move(io)), node_(request.node), device_(context_of(request)) {}

  void bind(const Binding& binding) override {
    std::vector<device::CastTensor> tensors;
    for (int i = 0; i < node_.inputs(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      const Shape& shape = node_.input_shape(i);
      device::CastTensor tensor{.src = binding.inputs[index],
                                .dst = binding.outputs[index],
                                .elements = shape.elements(),
                                .first_chunk = 0,
                                .from_bf16 = node_.input(i).type.dtype == DType::bf16,
                                .to_bf16 = node_.output(i).type.dtype == DType::bf16,
                                .walk = {}};
      if (!Layout::same_placement(io_.inputs[index], io_.outputs[index], shape))
        tensor.walk = make_walk(io_.outputs[index], shape, io_.inputs[index], shape);
      tensors.push_back(tensor);
    }
    table_.fill(device_, std::move(tensors));
  }

  void run(const StepContext&) override { device::cast(device_.stream(), table_.chunks()); }

 private:
  graph::NodeView node_;
  Context& device_;
  ChunkTable<device::CastTensor> table_;
};

Decision accept(const KernelRequest& request) {
  const auto is_float = [](DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; };
  for (int i = 0; i < request.node.inputs(); ++i)
    if (!is_float(request.node.input(i).type.dtype) || !is_float(request.node.output(i).type.dtype))
      return Decision::no("casts between f32 and bf16 only");
  return Decision::yes();
}

// Images become channels last on the way, wherever they come from.
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  for (int i = 0; i < request.node.inputs(); ++i)
    io.inputs[static_cast<std::size_t>(i)] = present_or_natural_layout(request, i);
  return std::make_unique<CastKernel>(request, std::move(io));
}

}  // namespace

std::vector<Candidate> cast_candidates() { return {{&ops::cast_op, "own:cast", accept, make}}; }

}  // namespace trainyard::backend::cuda
