#include "ops/dense_chain.h"

#include "backend/cuda/activation.h"
#include "backend/cuda/device/dense_chain.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

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

}  // namespace

std::vector<Candidate> dense_chain_candidates() {
  return {{&ops::dense_chain_op, "own:dense_chain", accept_forward, make<forward>},
          {&ops::dense_chain_d_src_op, "own:dense_chain_d_src", accept_gradient, make<d_src>},
          {&ops::dense_chain_d_weight_op, "own:dense_chain_d_weight", accept_gradient, make_d_weight}};
}

}  // namespace trainyard::backend::cuda
