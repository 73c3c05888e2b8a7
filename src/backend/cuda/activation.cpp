#include "backend/cuda/activation.h"

#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

// Element by element: any layout will do, as long as all have it.
KernelIo elementwise_io(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.in_place = {{0, 0}};
  return io;
}

void activation(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::activation(launch.stream(), to_device(launch.node.attrs<ops::ActivationAttrs>()),
                       launch.input<T>(0), launch.output<T>(0), launch.node.output_shape(0).elements());
  });
}

void activation_grad(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::activation_grad(launch.stream(), to_device(launch.node.attrs<ops::ActivationAttrs>()),
                            launch.input<T>(0), launch.input<T>(1), launch.output<T>(0),
                            launch.node.output_shape(0).elements());
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, elementwise_io(request), function);
}

}  // namespace

std::vector<Candidate> activation_candidates() {
  return {{&ops::activation_op, "own:activation", want_device_floats, make<activation>},
          {&ops::activation_grad_op, "own:activation_grad", want_device_floats, make<activation_grad>}};
}

}  // namespace trainyard::backend::cuda
