#include "ops/pad.h"

#include "backend/cuda/device/pad.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"
#include "backend/cuda/walk.h"

namespace trainyard::backend::cuda {
namespace {

void pad(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::PadAttrs>();
  const Shape &src = launch.node.input_shape(0), &dst = launch.node.output_shape(0);
  device::Padding padding;
  padding.element_bytes = static_cast<int>(size_of(launch.node.dtype()));
  for (const int axis : axis_order(launch.io.inputs[0], src.rank()))
    padding.append({attrs.before[axis], src[axis], dst[axis]});
  device::pad(launch.stream(), padding, launch.input<std::byte>(0), launch.output<std::byte>(0));
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), pad);
}

}  // namespace

std::vector<Candidate> pad_candidates() { return {{&ops::pad_op, "own:pad", want_countable_elements, make}}; }

}  // namespace trainyard::backend::cuda
