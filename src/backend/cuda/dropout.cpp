#include "ops/dropout.h"

#include "backend/cuda/device/dropout.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

void dropout(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::DropoutAttrs>();
  const Shape& shape = launch.node.output_shape(0);
  const device::DropoutShape image = shape.rank() == 4
                                         ? device::DropoutShape{shape[0], shape[2] * shape[3], shape[1]}
                                         : device::DropoutShape{1, shape.elements(), 1};
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::dropout(launch.stream(),
                    {launch.context(), attrs.stream, static_cast<float>(attrs.rate),
                     static_cast<float>(1 / (1 - attrs.rate))},
                    image, launch.input<T>(0), launch.output<T>(0));
  });
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.in_place = {{0, 0}};
  return std::make_unique<LaunchKernel>(request, std::move(io), dropout);
}

}  // namespace

std::vector<Candidate> dropout_candidates() {
  return {{&ops::dropout_op, "own:dropout", want_device_floats, make}};
}

}  // namespace trainyard::backend::cuda
