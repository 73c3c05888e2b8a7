#include "ops/multiply.h"

#include "backend/cuda/device/scale.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

void multiply(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::multiply(launch.stream(), launch.input<T>(0), launch.input<T>(1), launch.output<T>(0),
                     launch.node.output_shape(0).elements());
  });
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.in_place = {{0, 0}, {0, 1}};
  return std::make_unique<LaunchKernel>(request, std::move(io), multiply);
}

}  // namespace

std::vector<Candidate> multiply_candidates() {
  return {{&ops::multiply_op, "own:multiply", want_device_floats, make}};
}

}  // namespace trainyard::backend::cuda
