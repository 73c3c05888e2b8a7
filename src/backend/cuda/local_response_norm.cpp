#include "ops/local_response_norm.h"

#include "backend/cuda/device/local_response_norm.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

device::ResponseNorm norm_of(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::LocalResponseNormAttrs>();
  const Shape& shape = node.input_shape(0);
  return {.pixels = shape[0] * shape[2] * shape[3],
          .channels = static_cast<int>(shape[1]),
          .radius = static_cast<int>(attrs.window / 2),
          .k = static_cast<float>(attrs.k),
          .alpha = static_cast<float>(attrs.alpha),
          .beta = static_cast<float>(attrs.beta)};
}

void norm(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::local_response_norm(launch.stream(), norm_of(launch.node), launch.input<T>(0),
                                launch.output<T>(0));
  });
}

void norm_grad(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::local_response_norm_grad(launch.stream(), norm_of(launch.node), launch.input<T>(0),
                                     launch.input<T>(1), launch.output<T>(0));
  });
}

Decision accept(const KernelRequest& request) {
  if (request.node.input_shape(0)[1] > device::kMaxResponseNormChannels)
    return Decision::no("a pixel's channels do not fit into shared memory");
  return want_device_floats(request);
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  for (int i = 0; i < request.node.inputs(); ++i) io.in_place.emplace_back(0, i);
  return std::make_unique<LaunchKernel>(request, std::move(io), function);
}

}  // namespace

std::vector<Candidate> local_response_norm_candidates() {
  return {{&ops::local_response_norm_op, "own:local_response_norm", accept, make<norm>},
          {&ops::local_response_norm_grad_op, "own:local_response_norm_grad", accept, make<norm_grad>}};
}

}  // namespace trainyard::backend::cuda
