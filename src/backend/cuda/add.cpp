#include "ops/add.h"

#include "backend/cuda/activation.h"
#include "backend/cuda/device/add.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

int terms_of(const graph::NodeView& node) {
  return node.inputs() - (node.attrs<ops::AddAttrs>().mask_by_last ? 1 : 0);
}

void add(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::AddAttrs>();
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::Terms<T> terms{};
    terms.count = terms_of(launch.node);
    for (int i = 0; i < terms.count; ++i) terms.at[i] = launch.input<T>(i);
    if (attrs.mask_by_last) terms.mask = launch.input<T>(terms.count);
    device::add(launch.stream(), terms, to_device(attrs.activation), launch.output<T>(0),
                launch.node.output_shape(0).elements());
  });
}

Decision accept(const KernelRequest& request) {
  if (terms_of(request.node) > device::kMaxTerms)
    return Decision::no("more terms than a kernel's arguments hold");
  return want_device_floats(request);
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  for (int i = 0; i < request.node.inputs(); ++i) io.in_place.emplace_back(0, i);
  return std::make_unique<LaunchKernel>(request, std::move(io), add);
}

}  // namespace

std::vector<Candidate> add_candidates() { return {{&ops::add_op, "own:add", accept, make}}; }

}  // namespace trainyard::backend::cuda
