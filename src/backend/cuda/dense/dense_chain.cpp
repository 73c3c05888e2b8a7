#include "backend/cuda/dense/dense_kernels.h"
#include "backend/cuda/elementwise/elementwise.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "ops/dense.h"
#include "tensor/tensor.h"

namespace trainyard::backend::cuda {

namespace {

using device::ChainSizes;
using device::ChainTable;

ChainSizes sizes_of(const graph::NodeView& node, int layers) {
  const Shape& rows = node.input_shape(0);
  return {rows[0], static_cast<int>(rows[1]), layers};
}

int gradient_layers(const graph::NodeView& node) { return node.attrs<ops::DenseChainGradAttrs>().layers; }

void forward(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::DenseChainAttrs>();
  const int layers = ops::chain_layers(at.node);
  ChainTable<device::ForwardLayer> table{};
  with_float_type(at.node.dtype(), [&]<typename T>() {
    for (int layer = 0; layer < layers; ++layer)
      table.at[layer] = {at.input<T>(1 + 2 * layer), at.input<float>(2 + 2 * layer),
                         attrs.all_outputs     ? at.output<T>(layer)
                         : layer + 1 == layers ? at.output<T>(0)
                                               : nullptr};
    device::dense_chain<T>(at.stream(), sizes_of(at.node, layers), at.input<T>(0), table,
                           to_device(attrs.activation));
  });
}

void d_src(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::DenseChainGradAttrs>();
  ChainTable<device::BackwardLayer> table{};
  with_float_type(at.node.dtype(), [&]<typename T>() {
    int count = 0;
    for (int layer = attrs.layers - 1; layer >= (attrs.d_src ? 0 : 1); --layer)
      table.at[count++] = {at.input<T>(1 + layer), layer > 0 ? at.input<T>(attrs.layers + layer) : nullptr,
                           at.output<T>(layer > 0 ? layer - 1 : attrs.layers - 1)};
    device::dense_chain_d_src<T>(at.stream(), sizes_of(at.node, count), at.input<T>(0), table,
                                 to_device(attrs.activation));
  });
}

void d_weight(const Launch& at) {
  const int layers = gradient_layers(at.node);
  ChainTable<device::WeightLayer> table{};
  with_float_type(at.node.dtype(), [&]<typename T>() {
    for (int layer = 0; layer < layers; ++layer)
      table.at[layer] = {at.input<T>(layer), at.input<T>(layers + layer), at.output<T>(2 * layer),
                         at.output<float>(2 * layer + 1)};
    device::dense_chain_d_weight<T>(at.stream(), sizes_of(at.node, layers), table, at.workspace<float>());
  });
}

Decision accept(const KernelRequest& request, int layers) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  const Shape& rows = request.node.input_shape(0);
  if (rows[0] == 0) return Decision::no("there is no batch");
  if (rows[1] % 8 != 0 || rows[1] > ChainSizes::kMostWidth)
    return Decision::no("made for a width of at most 128, a multiple of 8");
  if (layers > ChainSizes::kMostLayers) return Decision::no("made for at most 128 layers");
  // Beyond this the matrix units win although each layer is started by itself; measured on an H200. In f32
  // they are not used.
  const bool exact = context_of(request).precision() == Precision::f32;
  const std::int64_t most_products = std::int64_t{1} << (exact ? 25 : 23);
  if (rows[0] * rows[1] * rows[1] > most_products)
    return Decision::no("made for little: matrix products are faster");
  return Decision::yes();
}

Decision accept_forward(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  if (node.dtype() != node.input(1).type.dtype) return Decision::no("inputs and weights of one type only");
  if (node.input(2).type.dtype != DType::f32) return Decision::no("adds the bias in f32");
  return accept(request, ops::chain_layers(node));
}
Decision accept_gradient(const KernelRequest& request) {
  return accept(request, gradient_layers(request.node));
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

std::unique_ptr<Kernel> make_d_weight(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  const ChainSizes sizes = sizes_of(request.node, gradient_layers(request.node));
  io.workspace_bytes = static_cast<std::size_t>(device::dense_chain_parts(sizes)) * sizeof(float);
  return std::make_unique<LaunchKernel>(request, std::move(io), d_weight);
}

using device::DenseUpdate;

// Changed tensors stay in the layout of the weight, and src follows it.
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
  // Returns a weight or bias with its slots.
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

std::vector<Candidate> dense_chain_candidates() {
  return {{&ops::dense_chain_op, "own:dense_chain", accept_forward, make<forward>},
          {&ops::dense_chain_d_src_op, "own:dense_chain_d_src", accept_gradient, make<d_src>},
          {&ops::dense_chain_d_weight_op, "own:dense_chain_d_weight", accept_gradient, make_d_weight},
          {&ops::dense_update_op, "own:dense_update", accept, make<false>},
          {&ops::dense_update_op, "own:dense_update_plain", accept_plain, make<true>}};
}

}  // namespace trainyard::backend::cuda
