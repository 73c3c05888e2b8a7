#include "ops/sequence/grouped_dense.h"

#include "backend/cuda/experts/experts_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {
namespace {

using device::GroupSizes;

// Serves the forward pass and d_src, whose second input is the weight.
GroupSizes sizes_by_weight(const graph::NodeView& node) {
  const Shape& weight = node.input_shape(1);
  return {node.input_shape(0)[0], weight[0], weight[2], weight[1]};
}

GroupSizes sizes_by_d_weight(const graph::NodeView& node) {
  const Shape& d_weight = node.output_shape(0);
  return {node.input_shape(0)[0], d_weight[0], d_weight[2], d_weight[1]};
}

void grouped_dense(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::grouped_dense<T>(at.stream(), sizes_by_weight(at.node), at.input<T>(0), at.input<T>(1),
                             at.input<std::int32_t>(2), at.node.inputs() == 4 ? at.input<float>(3) : nullptr,
                             at.output<T>(0));
  });
}

void grouped_dense_d_src(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::grouped_dense_d_src<T>(at.stream(), sizes_by_weight(at.node), at.input<T>(0), at.input<T>(1),
                                   at.input<std::int32_t>(2), at.output<T>(0));
  });
}

void grouped_dense_d_weight(const Launch& at) {
  const bool bias = at.node.attrs<ops::GroupedDenseGradAttrs>().bias;
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::grouped_dense_d_weight<T>(at.stream(), sizes_by_d_weight(at.node), at.input<T>(0), at.input<T>(1),
                                      at.input<std::int32_t>(2), at.output<T>(0),
                                      bias ? at.output<float>(1) : nullptr);
  });
}

constexpr std::int64_t kMostBlocks = 65535;  // of the second and third dimension of a grid

// Rows and weights have one type; the bias is f32.
Decision accept(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  if (node.input(0).type.dtype != node.input(1).type.dtype)
    return Decision::no("takes both operands in one type");
  if (node.inputs() == 4 && node.input(3).type.dtype != DType::f32)
    return Decision::no("takes a bias in f32");
  if (node.input_shape(2)[0] > kMostBlocks) return Decision::no("more groups than a grid has room for");
  constexpr std::int64_t kLeastTile = 64;
  for (const Shape& shape : {node.input_shape(0), node.input_shape(1), node.output_shape(0)})
    if (shape[shape.rank() - 1] > kMostBlocks * kLeastTile)
      return Decision::no("a row has more numbers than a grid has room for");
  return want_device_floats(request);
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

}  // namespace

std::vector<Candidate> grouped_dense_candidates() {
  return {
      {&ops::grouped_dense_op, "own:grouped_dense", accept, make<grouped_dense>},
      {&ops::grouped_dense_d_src_op, "own:grouped_dense_d_src", accept, make<grouped_dense_d_src>},
      {&ops::grouped_dense_d_weight_op, "own:grouped_dense_d_weight", accept, make<grouped_dense_d_weight>}};
}

}  // namespace trainyard::backend::cuda
