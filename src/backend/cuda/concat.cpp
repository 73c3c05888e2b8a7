#include "ops/concat.h"

#include <algorithm>

#include "backend/cuda/device/concat.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"
#include "backend/cuda/walk.h"

namespace trainyard::backend::cuda {
namespace {

// Bytes from one place of the joined axis on: the rest of a line.
std::int64_t line_bytes(const graph::TensorType& type, const Layout& layout, int axis) {
  const std::vector<int> order = axis_order(layout, type.shape.rank());
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (auto inner = std::find(order.begin(), order.end(), axis); inner != order.end(); ++inner)
    bytes *= type.shape[*inner];
  return bytes;
}

void concat(const Launch& launch) {
  const int axis = launch.node.attrs<ops::ConcatAttrs>().axis;
  const graph::TensorType& type = launch.node.output(0).type;
  device::ConcatParts parts;
  parts.line_bytes = line_bytes(type, launch.io.outputs[0], axis);
  parts.lines = type.bytes() / parts.line_bytes;
  std::int64_t offset = 0;
  for (int i = 0; i < launch.node.inputs(); ++i) {
    const std::int64_t bytes =
        line_bytes(launch.node.input(i).type, launch.io.inputs[static_cast<std::size_t>(i)], axis);
    parts.parts[parts.count++] = {launch.input<std::byte>(i), bytes, offset};
    offset += bytes;
    if (parts.count < device::ConcatParts::kMax && i + 1 < launch.node.inputs()) continue;
    device::concat(launch.stream(), parts, launch.output<std::byte>(0));
    parts.count = 0;
  }
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), concat);
}

}  // namespace

std::vector<Candidate> concat_candidates() {
  return {{&ops::concat_op, "own:concat", want_countable_elements, make}};
}

}  // namespace trainyard::backend::cuda
