#include "ops/softmax.h"

#include "backend/cuda/device/softmax.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

void softmax(const Launch& launch) {
  const Shape& shape = launch.node.input_shape(0);
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::softmax(launch.stream(), shape[0], shape[1], launch.input<T>(0), launch.output<T>(0));
  });
}

void softmax_grad(const Launch& launch) {
  const Shape& shape = launch.node.input_shape(0);
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::softmax_grad(launch.stream(), shape[0], shape[1], launch.input<T>(0), launch.input<T>(1),
                         launch.output<T>(0));
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.in_place = {{0, 0}};
  return std::make_unique<LaunchKernel>(request, std::move(io), function);
}

}  // namespace

std::vector<Candidate> softmax_candidates() {
  return {{&ops::softmax_op, "own:softmax", want_device_floats, make<softmax>},
          {&ops::softmax_grad_op, "own:softmax_grad", want_device_floats, make<softmax_grad>}};
}

}  // namespace trainyard::backend::cuda
