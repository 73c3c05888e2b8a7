#include "ops/broadcast.h"

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/elementwise/shape.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

// Goes through dst as it lies; src stays at its place along an axis of which it has one element.
void repeat(const Launch& launch) {
  const Shape &src = launch.node.input_shape(0), &dst = launch.node.output_shape(0);
  const LayoutIndex index(launch.io.inputs[0], src);
  device::StridedCopy copy{.from = {},
                           .first = 0,
                           .elements = dst.elements(),
                           .element_bytes = static_cast<int>(size_of(launch.node.dtype()))};
  for (const int axis : axis_order(launch.io.outputs[0], dst.rank()))
    copy.from.append(dst[axis], src[axis] == 1 ? 0 : index.outer_stride(axis));
  device::strided_copy(launch.stream(), copy, launch.input<std::byte>(0), launch.output<std::byte>(0));
}

std::unique_ptr<Kernel> make_repeat(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), repeat);
}

device::AxisSums axis_sums(const Launch& launch) {
  const Shape &src = launch.node.input_shape(0), &dst = launch.node.output_shape(0);
  const LayoutIndex index(launch.io.inputs[0], src);
  device::AxisSums sums;
  sums.elements = static_cast<std::uint32_t>(dst.elements());
  sums.terms = static_cast<std::uint32_t>(dst.elements() == 0 ? 0 : src.elements() / dst.elements());
  for (const int axis : axis_order(launch.io.inputs[0], src.rank()))
    (src[axis] == dst[axis] ? sums.element : sums.term).append(src[axis], index.outer_stride(axis));
  return sums;
}

void sum(const Launch& launch) {
  const device::AxisSums sums = axis_sums(launch);
  // Rows of which all numbers are kept have a kernel that many blocks share.
  if (launch.node.dtype() == DType::f32 && sums.element.is_dense() && sums.term.rank == 1 &&
      sums.term.axes[0].stride == static_cast<std::int64_t>(sums.elements))
    return device::channel_sum(launch.stream(), launch.input<float>(0), launch.output<float>(0), sums.terms,
                               sums.elements);
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::sum_axes(launch.stream(), sums, launch.input<T>(0), launch.output<T>(0));
  });
}

Decision accept(const KernelRequest& request) {
  if (request.node.input_shape(0).rank() > device::Walk::kMaxRank)
    return Decision::no("takes at most 6 dimensions");
  return want_countable_elements(request);
}

std::unique_ptr<Kernel> make_sum(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), sum);
}

}  // namespace

std::vector<Candidate> broadcast_candidates() {
  return {{&ops::repeat_op, "own:repeat", accept, make_repeat}, {&ops::sum_op, "own:sum", accept, make_sum}};
}

}  // namespace trainyard::backend::cuda
