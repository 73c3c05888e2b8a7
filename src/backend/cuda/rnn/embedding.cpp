#include "ops/recurrent.h"

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

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), embedding);
}

std::unique_ptr<Kernel> make_gradient(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes =
      static_cast<std::size_t>(device::embedding_parts(sizes_of_gradient(request.node))) * sizeof(float);
  return std::make_unique<LaunchKernel>(request, std::move(io), embedding_d_table);
}

}  // namespace

std::vector<Candidate> embedding_candidates() {
  return {{&ops::embedding_op, "own:embedding", want_device_floats, make},
          {&ops::embedding_d_table_op, "own:embedding_d_table", want_device_floats, make_gradient}};
}

}  // namespace trainyard::backend::cuda
