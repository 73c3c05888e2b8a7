#include "ops/dense_update.h"

#include "backend/cuda/device/dense_update.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"
#include "tensor/host_tensor.h"

namespace trainyard::backend::cuda {
namespace {

using device::DenseUpdate;

// What is changed stays in the layout that the weight has, and src follows it.
KernelIo io_of(const KernelRequest& request) {
  const Layout layout = present_or_natural_layout(request, 2);
  KernelIo io;
  for (int i = 0; i < request.node.inputs(); ++i)
    io.inputs.push_back(request.node.input_shape(i).rank() == request.node.input_shape(2).rank() && i > 0
                            ? layout
                            : Layout{});
  if (!request.node.attrs<ops::UpdateAttrs>().schedule.is_constant()) io.workspace_bytes = sizeof(float);
  return io;
}

class DenseUpdateKernel final : public Kernel {
 public:
  DenseUpdateKernel(const KernelRequest& request, bool plain)
      : Kernel(io_of(request)), node_(request.node), device_(context_of(request)), plain_(plain) {}

  void bind(const Binding& binding) override {
    const auto& attrs = node_.attrs<ops::UpdateAttrs>();
    binding_ = binding;
    const Shape &d_dst = node_.input_shape(0), &weight = node_.input_shape(2);
    layer_ = {.samples = static_cast<int>(d_dst[0]),
              .outputs = static_cast<int>(d_dst[1]),
              .inputs = static_cast<int>(weight.elements_from(1)),
              .weight = tensor(0),
              .bias = tensor(1)};
    if (attrs.rounded_copies > 0) layer_.weight.rounded = binding.inputs.back();
  }

  void run(const StepContext&) override {
    const auto& attrs = node_.attrs<ops::UpdateAttrs>();
    const cudaStream_t stream = device_.stream();
    float* scheduled = io_.workspace_bytes > 0 ? reinterpret_cast<float*>(binding_.workspace) : nullptr;
    device::make_scheduled_rate(stream, attrs, binding_.context, scheduled);
    with_float_type(node_.dtype(), [&]<typename T>() {
      const auto *d_dst = reinterpret_cast<const T*>(binding_.inputs[0]),
                 *src = reinterpret_cast<const T*>(binding_.inputs[1]);
      if (plain_)
        return device::dense_update_plain(stream, attrs, binding_.context, scheduled, layer_, d_dst, src);
      // A block takes half of a multiprocessor. Late, some halves are left to what is urgent: measured, three
      // blocks on two multiprocessors delay it least.
      const int blocks = binding_.late ? device_.properties().multiProcessorCount * 3 / 2 : 0;
      device::dense_update(stream, attrs, binding_.context, scheduled, layer_, d_dst, src, blocks);
    });
  }

 private:
  // Weight, or bias, with its slots.
  device::UpdateTensor tensor(int parameter) const {
    const auto memory = [&](int group) {
      return reinterpret_cast<float*>(binding_.inputs[static_cast<std::size_t>(2 + 2 * group + parameter)]);
    };
    device::UpdateTensor made{.parameter = memory(0),
                              .gradient = nullptr,
                              .slots = {},
                              .elements = node_.input_shape(2 + parameter).elements(),
                              .first_chunk = 0,
                              .gradient_is_bf16 = false};
    const int slots = node_.attrs<ops::UpdateAttrs>().slots();
    for (int s = 0; s < slots; ++s) made.slots[s] = memory(1 + s);
    return made;
  }

  graph::NodeView node_;
  Context& device_;
  bool plain_;
  Binding binding_;
  DenseUpdate layer_{};
};

Decision accept(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  const graph::NodeView& node = request.node;
  if (node.dtype() == DType::f32 && context_of(request).precision() == Precision::f32)
    return Decision::no("made for tf32 and bf16");
  if (node.input_shape(0)[0] > DenseUpdate::kMostSamples) return Decision::no("made for at most 64 samples");
  const auto row = static_cast<std::int64_t>(16 / size_of(node.dtype()));
  if (node.input_shape(0)[1] % row != 0 || node.input_shape(2).elements_from(1) % row != 0)
    return Decision::no("a row is no multiple of 16 bytes");
  return Decision::yes();
}

Decision accept_plain(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  return accept(request).accepted() ? Decision::no("another own kernel takes it") : Decision::yes();
}

template <bool plain>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<DenseUpdateKernel>(request, plain);
}

}  // namespace

std::vector<Candidate> dense_update_candidates() {
  return {{&ops::dense_update_op, "own:dense_update", accept, make<false>},
          {&ops::dense_update_op, "own:dense_update_plain", accept_plain, make<true>}};
}

}  // namespace trainyard::backend::cuda
