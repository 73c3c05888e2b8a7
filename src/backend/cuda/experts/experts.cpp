#include "ops/sequence/experts.h"

#include "backend/cuda/experts/experts_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {
namespace {

static_assert(ops::kMostExperts <= device::kMostExperts);

using device::ChoiceSizes;
using device::RouteSizes;

RouteSizes sizes_of_route(const graph::NodeView& node) {
  return {node.input_shape(0)[0], node.input_shape(0)[1], node.attrs<ops::RouteAttrs>().choices};
}

void route(const Launch& at) {
  device::route(at.stream(), sizes_of_route(at.node), at.input<float>(0),
                {.gates = at.output<float>(0),
                 .chosen = at.output<std::int32_t>(1),
                 .place = at.output<std::int32_t>(2),
                 .offsets = at.output<std::int32_t>(3)},
                at.workspace<std::int32_t>());
}

void route_grad(const Launch& at) {
  const Shape &gates = at.node.input_shape(1), &scores = at.node.output_shape(0);
  device::route_grad(at.stream(), {gates[0], scores[1], gates[1]}, at.input<float>(0), at.input<float>(1),
                     at.input<std::int32_t>(2), at.output<float>(0));
}

float coefficient_of(const Launch& at) {
  return static_cast<float>(at.node.attrs<ops::BalanceAttrs>().coefficient);
}

void balance_penalty(const Launch& at) {
  auto* parts = at.workspace<float>();
  const int layers = at.node.inputs() / 2;
  for (int layer = 0; layer < layers; ++layer) {
    const Shape& scores = at.node.input_shape(2 * layer);
    device::balance_parts(at.stream(), scores[0], scores[1], at.input<float>(2 * layer),
                          at.input<std::int32_t>(2 * layer + 1), parts + layer * device::kBalanceParts);
  }
  device::finish_balance(at.stream(), layers, coefficient_of(at), parts, at.output<float>(0));
}

void balance_penalty_grad(const Launch& at) {
  const Shape& scores = at.node.input_shape(1);
  device::balance_grad(at.stream(), scores[0], scores[1], coefficient_of(at), at.input<float>(0),
                       at.input<float>(1), at.input<std::int32_t>(2), at.output<float>(0));
}

// `place` is that input; `rows` has the width.
ChoiceSizes sizes_of_choices(const graph::NodeView& node, int place, const Shape& rows) {
  return {node.input_shape(place)[0], node.input_shape(place)[1], rows[1]};
}

void dispatch(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::dispatch<T>(at.stream(), sizes_of_choices(at.node, 1, at.node.input_shape(0)), at.input<T>(0),
                        at.input<std::int32_t>(1), at.output<T>(0));
  });
}

void dispatch_d_src(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::sum_choices<T>(at.stream(), sizes_of_choices(at.node, 1, at.node.input_shape(0)), at.input<T>(0),
                           nullptr, at.input<std::int32_t>(1), at.output<T>(0));
  });
}

void combine(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::sum_choices<T>(at.stream(), sizes_of_choices(at.node, 2, at.node.input_shape(0)), at.input<T>(0),
                           at.input<float>(1), at.input<std::int32_t>(2), at.output<T>(0));
  });
}

// d_dst is f32 where a sum made it, while the experts make bf16.
void combine_grad(const Launch& at) {
  with_float_type(at.node.input(0).type.dtype, [&]<typename D>() {
    with_float_type(at.node.input(1).type.dtype, [&]<typename T>() {
      device::combine_grad<D, T>(at.stream(), sizes_of_choices(at.node, 3, at.node.input_shape(1)),
                                 at.input<D>(0), at.input<T>(1), at.input<float>(2),
                                 at.input<std::int32_t>(3), at.output<T>(0), at.output<float>(1));
    });
  });
}

Decision accept_combine(const KernelRequest& request, int gates) {
  if (request.node.input(gates).type.dtype != DType::f32) return Decision::no("takes gates in f32");
  return want_device_floats(request);
}

Decision accept_forward_combine(const KernelRequest& request) { return accept_combine(request, 1); }
Decision accept_combine_grad(const KernelRequest& request) { return accept_combine(request, 2); }

// Scores and all that is made of them.
Decision accept_scores(const KernelRequest& request) {
  if (request.node.dtype() != DType::f32) return Decision::no("takes scores in f32");
  return want_device_floats(request);
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), function);
}

std::unique_ptr<Kernel> make_route(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes =
      static_cast<std::size_t>(device::route_counts(sizes_of_route(request.node))) * sizeof(std::int32_t);
  return std::make_unique<LaunchKernel>(request, std::move(io), route);
}

std::unique_ptr<Kernel> make_balance(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes =
      static_cast<std::size_t>(request.node.inputs() / 2) * device::kBalanceParts * sizeof(float);
  return std::make_unique<LaunchKernel>(request, std::move(io), balance_penalty);
}

}  // namespace

std::vector<Candidate> experts_candidates() {
  return {
      {&ops::route_op, "own:route", accept_scores, make_route},
      {&ops::route_grad_op, "own:route_grad", accept_scores, make<route_grad>},
      {&ops::dispatch_op, "own:dispatch", want_device_floats, make<dispatch>},
      {&ops::dispatch_d_src_op, "own:dispatch_d_src", want_device_floats, make<dispatch_d_src>},
      {&ops::combine_op, "own:combine", accept_forward_combine, make<combine>},
      {&ops::combine_grad_op, "own:combine_grad", accept_combine_grad, make<combine_grad>},
      {&ops::balance_penalty_op, "own:balance_penalty", accept_scores, make_balance},
      {&ops::balance_penalty_grad_op, "own:balance_penalty_grad", accept_scores, make<balance_penalty_grad>}};
}

}  // namespace trainyard::backend::cuda
