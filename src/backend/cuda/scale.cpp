#include "ops/scale.h"

#include "backend/cuda/device/scale.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

void scale(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::scale(launch.stream(), static_cast<float>(launch.node.attrs<ops::ScaleAttrs>().factor),
                  launch.input<T>(0), launch.output<T>(0), launch.node.output_shape(0).elements());
  });
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.in_place = {{0, 0}};
  return std::make_unique<LaunchKernel>(request, std::move(io), scale);
}

}  // namespace

std::vector<Candidate> scale_candidates() {
  return {{&ops::scale_op, "own:scale", want_device_floats, make}};
}

}  // namespace trainyard::backend::cuda
