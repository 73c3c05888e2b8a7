#include "ops/sequence/recurrent.h"

#include "backend/cuda/rnn/rnn_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {
namespace {

using device::EmbeddingSizes;

void embedding(const Launch& at) {
  const Shape& table = at.node.input_shape(0);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::embedding<T>(at.stream(), {at.node.input_shape(1).elements(), table[0], table[1]}, at.input<T>(0),
                         at.input<std::int32_t>(1), at.output<T>(0));
  });
}

EmbeddingSizes sizes_of_gradient(const graph::NodeView& node) {
  const Shape& table = node.output_shape(0);
  return {node.input_shape(1).elements(), table[0], table[1]};
}

void embedding_d_table(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::embedding_d_table<T>(at.stream(), sizes_of_gradient(at.node), at.input<T>(0),
                                 at.input<std::int32_t>(1), at.output<T>(0), at.workspace<float>());
  });
}

void embedding_d_table_sorted(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::embedding_d_table_sorted<T>(at.stream(), sizes_of_gradient(at.node), at.input<T>(0),
                                        at.input<std::int32_t>(1), at.output<T>(0), at.memory.workspace);
  });
}

Decision accept_sorted(const KernelRequest& request) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  const EmbeddingSizes sizes = sizes_of_gradient(request.node);
  if (sizes.ids == 0) return Decision::no("there are no ids");
  if (device::embedding_sorted_bytes(sizes) > kMostBytes)
    return Decision::no("it would take more than 1 GiB to sort the ids");
  return want_device_floats(request);
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), embedding);
}

std::unique_ptr<Kernel> make_gradient(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes =
      static_cast<std::size_t>(device::embedding_parts(sizes_of_gradient(request.node))) * sizeof(float);
  return std::make_unique<LaunchKernel>(request, std::move(io), embedding_d_table);
}

std::unique_ptr<Kernel> make_sorted(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes =
      static_cast<std::size_t>(device::embedding_sorted_bytes(sizes_of_gradient(request.node)));
  return std::make_unique<LaunchKernel>(request, std::move(io), embedding_d_table_sorted);
}

}  // namespace

std::vector<Candidate> embedding_candidates() {
  return {{&ops::embedding_op, "own:embedding", want_device_floats, make},
          {&ops::embedding_d_table_op, "own:embedding_d_table_sorted", accept_sorted, make_sorted},
          {&ops::embedding_d_table_op, "own:embedding_d_table", want_device_floats, make_gradient}};
}

}  // namespace trainyard::backend::cuda
