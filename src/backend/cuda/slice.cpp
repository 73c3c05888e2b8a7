#include "ops/slice.h"

#include "backend/cuda/device/reorder.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"
#include "backend/cuda/walk.h"

namespace trainyard::backend::cuda {
namespace {

void slice(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::SliceAttrs>();
  const Shape& whole = launch.node.input_shape(0);
  const Layout& layout = launch.io.inputs[0];
  const LayoutIndex index(layout, whole);
  device::strided_copy(launch.stream(),
                       {.from = make_walk(layout, attrs.size, layout, whole),
                        .first = index.offset_of(attrs.begin.begin()),
                        .elements = attrs.size.elements(),
                        .element_bytes = static_cast<int>(size_of(launch.node.dtype()))},
                       launch.input<std::byte>(0), launch.output<std::byte>(0));
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), slice);
}

}  // namespace

std::vector<Candidate> slice_candidates() {
  return {{&ops::slice_op, "own:slice", want_countable_elements, make}};
}

}  // namespace trainyard::backend::cuda
