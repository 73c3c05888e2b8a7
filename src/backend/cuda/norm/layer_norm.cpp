#include "ops/layer_norm.h"

#include "backend/cuda/norm/norm_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

bool is_centred(const graph::NodeView& node) { return node.attrs<ops::LayerNormAttrs>().centred; }

Decision want_f32(const KernelRequest& request, int input) {
  return request.node.input(input).type.dtype == DType::f32
             ? want_device_floats(request)
             : Decision::no("takes gamma, beta and statistics in f32");
}

Decision accept(const KernelRequest& request) {
  Decision decision = want_f32(request, 1);
  if (decision.accepted() && is_centred(request.node)) decision = want_f32(request, 2);
  return decision;
}

void layer_norm(const Launch& at) {
  const bool centred = is_centred(at.node);
  const Shape& shape = at.node.input_shape(0);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::layer_norm(at.stream(), shape[0], shape[1],
                       static_cast<float>(at.node.attrs<ops::LayerNormAttrs>().epsilon), at.input<T>(0),
                       {.gamma = at.input<float>(1),
                        .beta = centred ? at.input<float>(2) : nullptr,
                        .inverse = at.output<float>(1),
                        .mean = centred ? at.output<float>(2) : nullptr},
                       at.output<T>(0));
  });
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), layer_norm);
}

device::LayerNormPasses passes_of(const graph::NodeView& node, const Context& device) {
  const std::size_t widest = std::max(size_of(node.input(0).type.dtype), size_of(node.input(1).type.dtype));
  return {node.input_shape(1)[0], node.input_shape(1)[1], static_cast<int>(16 / widest),
          device.properties().multiProcessorCount};
}

// d_dst is bf16 where a product made it, while src may be a sum in f32.
void gradient(const Launch& at) {
  const bool centred = is_centred(at.node);
  with_float_type(at.node.input(0).type.dtype, [&]<typename D>() {
    with_float_type(at.node.input(1).type.dtype, [&]<typename T>() {
      device::layer_norm_grad<D, T>(at.stream(), passes_of(at.node, at.device),
                                    {.d_dst = at.input<D>(0),
                                     .src = at.input<T>(1),
                                     .gamma = at.input<float>(2),
                                     .inverse = at.input<float>(3),
                                     .mean = centred ? at.input<float>(4) : nullptr},
                                    at.workspace<float>(), at.output<T>(0), at.output<float>(1),
                                    centred ? at.output<float>(2) : nullptr);
    });
  });
}

Decision accept_gradient(const KernelRequest& request) { return want_f32(request, 2); }

std::unique_ptr<Kernel> make_gradient(const KernelRequest& request) {
  KernelIo io = in_place_io(request.node);
  io.workspace_bytes = passes_of(request.node, context_of(request)).part_bytes();
  return std::make_unique<LaunchKernel>(request, std::move(io), gradient);
}

}  // namespace

std::vector<Candidate> layer_norm_candidates() {
  return {{&ops::layer_norm_op, "own:layer_norm", accept, make},
          {&ops::layer_norm_grad_op, "own:layer_norm_grad", accept_gradient, make_gradient}};
}

}  // namespace trainyard::backend::cuda
